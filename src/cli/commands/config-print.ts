import type { Command } from 'commander';
import { formatSettings } from '../../config/load-settings.ts';
import { runCommand, type CommandContext } from '../command.ts';

/** Defines `config print`: the settings in force. The API key is told only as set or not. */
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
