import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { AppError } from '../core/errors.ts';

/**
 * The value of a setting in a flag, which is YAML as in the file. A cron expression may begin with `*`, which YAML takes for the
 * name of a value that stands elsewhere: a flag has no other. Throws `usage` if it is not YAML.
 */
export function parseSettingValue(text: string): unknown {
  if (text.startsWith('*')) return text;
  // Loaded here: most command lines set nothing.
  const { parse } = createRequire(import.meta.url)('yaml') as typeof Yaml;
  try {
    return parse(text);
  } catch (cause) {
    throw new AppError('the value of the setting is not valid YAML', {
      code: 'usage',
      hint: "write lists as --set 'export.mask=[name, email]', in quotes",
      cause,
    });
  }
}
