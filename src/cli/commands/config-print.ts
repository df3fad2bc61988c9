import type { Command } from 'commander';
import { formatSettings } from '../../config/load-settings.ts';
import { runCommand, type CommandContext } from '../command.ts';

/** Defines `config print`: prints the settings in force. Of the API key it says only whether it is set. */
export function define(command: Command, context: CommandContext): void {
  command
    .addHelpText(
      'after',
      '\nExamples:\n  analytics-mirror config print\n  analytics-mirror config print --set persons.pageSize=500 --json',
    )
    .action(() =>
      runCommand(context, command, ({ settings, hasApiKey }) => {
        const apiKey = hasApiKey ? 'set' : 'not set';
        return { json: { settings, apiKey }, text: `${formatSettings(settings)}# API key: ${apiKey}\n` };
      }),
    );
}
