import { Option, type Command } from 'commander';
import { findDefaultFile } from '../config/default-file.ts';
import type { Environment } from '../config/environment.ts';
import { usageError } from '../core/errors.ts';
import type { SettingsFlags } from '../config/load-settings.ts';
import { logLevels } from '../config/log-levels.ts';
import { parseSettingValue } from '../config/setting-value.ts';

/** The options that every command takes. */
export type GlobalOptions = {
  json?: boolean;
  config?: string;
  dataDir?: string;
  logLevel?: string;
  project?: string;
  wait?: boolean;
  set?: { path: string; value: unknown }[];
};

/** Adds the options that every command takes to the program. */
export function addGlobalOptions(program: Command): Command {
  return program
    .option('--json', 'print exactly one JSON object on standard output')
    .option('--config <file>', 'a configuration file (MIRROR_CONFIG)')
    .option('--data-dir <folder>', 'the data folder, which holds the mirror (MIRROR_DATA_DIR)')
    .addOption(suggesting(new Option('--log-level <level>', 'how much is logged (MIRROR_LOG_LEVEL)'), logLevels))
    .option('--project <name>', 'the project, where several are configured')
    .option('--wait', 'while another run holds the data folder: wait, instead of ending with exit code 5')
    .option('--set <path=value>', 'any setting, as --set persons.pageSize=500; may be repeated', collectSetting);
}

/** An option of which many values are known, and which takes others too. */
export function suggesting(option: Option, values: readonly string[]): Option {
  option.argChoices = [...values];
  return option;
}

/** The settings that the options give. Given the environment, with the file that is read where nothing names one. */
export function settingsFlags(
  { config, dataDir, logLevel, project, set }: GlobalOptions,
  environment?: Environment,
): SettingsFlags {
  return {
    configFile: config ?? (environment && !environment['MIRROR_CONFIG'] ? findDefaultFile(environment) : undefined),
    project,
    set: [
      ...(set ?? []),
      ...(dataDir === undefined ? [] : [{ path: 'dataDir', value: dataDir }]),
      ...(logLevel === undefined ? [] : [{ path: 'log.level', value: logLevel }]),
    ],
  };
}

function collectSetting(
  text: string,
  earlier: { path: string; value: unknown }[] = [],
): { path: string; value: unknown }[] {
  const [path, value] = splitPair('--set', text);
  return [...earlier, { path, value: parseSettingValue(value) }];
}

/** Splits an option's `name=value`. Throws `usage`, without the text, when there is no name or no `=`. */
export function splitPair(option: string, text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1)
    throw usageError(`${option} takes name=value`, `write it as ${option} name=value, in quotes where it holds spaces`);
  return [text.slice(0, at), text.slice(at + 1)];
}
