import type { Command } from 'commander';
import { formatSettings } from '../../config/load-settings.ts';
import { runCommand } from '../command.ts';
import type { CommandContext } from '../context.ts';

/** Adds `config print`: the settings in force. The API key is told only as set or not. */
export function addConfigCommand(program: Command, context: CommandContext): void {
  program
    .command('config')
    .description('show the configuration')
    .command('print')
    .description('print every setting in force, from defaults, file, environment and flags')
    .addHelpText(
      'after',
      '\nExamples:\n  analytics-mirror config print\n  analytics-mirror config print --set persons.pageSize=500 --json',
    )
    .action((_options: unknown, command: Command) =>
      runCommand(context, command, ({ settings, hasApiKey }) => {
        const apiKey = hasApiKey ? 'set' : 'not set';
        return { json: { settings, apiKey }, text: `${formatSettings(settings)}# API key: ${apiKey}\n` };
      }),
    );
}
