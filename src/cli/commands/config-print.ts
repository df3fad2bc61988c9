import { formatSettings } from '../../config/load-settings.ts';
import type { CommandAction } from '../command.ts';

/** Defines `config print`: prints the settings in force. Of the API key it says only whether it is set. */
export function define(): CommandAction {
  return {
    help: '\nExamples:\n  analytics-mirror config print\n  analytics-mirror config print --set persons.pageSize=500 --json',
    run: ({ settings, hasApiKey }) => {
      const apiKey = hasApiKey ? 'set' : 'not set';
      return { json: { settings, apiKey }, text: `${formatSettings(settings)}# API key: ${apiKey}\n` };
    },
  };
}
