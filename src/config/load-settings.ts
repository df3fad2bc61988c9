import { readFileSync } from 'node:fs';
import { YAMLParseError, parse, stringify } from 'yaml';
import type { z } from 'zod';
import { AppError, systemCode } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/exact-json.ts';
import { Settings } from './settings.ts';

/** The process environment, as this program reads it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What the command line says about settings: a file, and single settings by their dotted path. */
export type SettingsFlags = {
  configFile?: string | undefined;
  set?: readonly { path: string; value: unknown }[];
};

/** The settings, and the API key apart from them so that printing settings cannot print it. */
export type LoadedSettings = { settings: Settings; apiKey: string | null };

const settingVariables: Readonly<Record<string, string>> = {
  MIRROR_BASE_URL: 'service.baseUrl',
  MIRROR_PROJECT_ID: 'service.projectId',
  MIRROR_DATA_DIR: 'dataDir',
  MIRROR_LOG_LEVEL: 'log.level',
};
const otherVariables = ['MIRROR_CONFIG', 'MIRROR_API_KEY', 'MIRROR_API_KEY_FILE'];

/**
 * Reads the defaults, the configuration file, the environment and the flags, in this order, later ones winning, and
 * checks the result. Throws one `usage` error that names every problem by its path.
 */
export function loadSettings(environment: Environment, flags: SettingsFlags = {}): LoadedSettings {
  const tree = readYaml(new URL('../../config/default.yaml', import.meta.url));
  const file = flags.configFile ?? (environment['MIRROR_CONFIG'] || undefined);
  if (file !== undefined) merge(tree, readYaml(file));
  const problems = unknownVariables(environment);
  for (const [variable, path] of Object.entries(settingVariables)) {
    const value = environment[variable];
    if (value !== undefined && value !== '') assign(tree, path, value);
  }
  for (const { path, value } of flags.set ?? []) assign(tree, path, value);
  const apiKey = readApiKey(environment, problems);
  const parsed = Settings.safeParse(tree);
  if (!parsed.success) problems.push(...parsed.error.issues.flatMap(problemsOf));
  if (!parsed.success || problems.length > 0) {
    throw new AppError(
      `the configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
      {
        code: 'usage',
        hint: 'config/default.yaml explains every setting',
      },
    );
  }
  return { settings: deepFreeze(parsed.data), apiKey };
}

/** The value of a setting as a flag gives it: YAML, as in the file. Throws a `usage` error when it is not. */
export function parseSettingValue(text: string): unknown {
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

/** Settings as a configuration file would hold them. */
export function formatSettings(settings: Settings): string {
  return stringify(settings);
}

/** One line a problem: the setting's path and what is wrong, with the value's type but never the value. */
function problemsOf(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => `${[...issue.path.map(String), name].join('.')}: unknown setting`);
  return [`${path || 'the file'}: ${issue.message}`];
}

function unknownVariables(environment: Environment): string[] {
  const known = new Set([...Object.keys(settingVariables), ...otherVariables]);
  return Object.keys(environment)
    .filter((name) => name.startsWith('MIRROR_') && !known.has(name))
    .map((name) => `${name}: unknown variable (known are ${[...known].join(', ')})`);
}

function readApiKey(environment: Environment, problems: string[]): string | null {
  const file = environment['MIRROR_API_KEY_FILE'];
  const key = (file ? readFile(file, 'MIRROR_API_KEY_FILE') : (environment['MIRROR_API_KEY'] ?? '')).trim();
  if (/[^\x21-\x7e]/.test(key))
    problems.push(
      `${file ? 'MIRROR_API_KEY_FILE' : 'MIRROR_API_KEY'}: the API key holds a space or another character that no key has`,
    );
  return key === '' ? null : key;
}

function readYaml(path: string | URL): JsonObject {
  const text = readFile(path, 'the configuration file');
  let tree: unknown;
  try {
    tree = parse(text) ?? {};
  } catch (error) {
    const found =
      error instanceof YAMLParseError
        ? `at line ${error.linePos?.[0].line ?? '?'} (${error.code})`
        : '(an alias that cannot be followed)';
    throw new AppError(`the configuration file ${String(path)} is not valid YAML ${found}`, {
      code: 'usage',
      hint: 'check the indentation, the quotes and the brackets there',
    });
  }
  if (!isJsonObject(tree))
    throw new AppError(`the configuration file ${String(path)} must be a map of settings`, {
      code: 'usage',
      hint: 'write it like config/default.yaml, which explains every setting',
    });
  return tree;
}

function readFile(path: string | URL, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new AppError(`${what} cannot be read: ${String(path)} (${systemCode(error) ?? 'unknown error'})`, {
      code: 'usage',
      hint: 'check the path, and that this user may read the file',
      cause: error,
    });
  }
}

/** Maps are merged, everything else is replaced. `service.recordings.query` and the like are maps too. */
function merge(target: JsonObject, source: JsonObject): void {
  for (const [name, value] of Object.entries(source)) {
    const existing = ownValue(target, name);
    if (isJsonObject(existing) && isJsonObject(value)) merge(existing, value);
    else define(target, name, value);
  }
}

function assign(tree: JsonObject, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? path;
  let node = tree;
  for (const name of names) {
    const child = ownValue(node, name);
    const branch = isJsonObject(child) ? child : {};
    define(node, name, branch);
    node = branch;
  }
  define(node, last, value);
}

/** An own property only: what `__proto__` inherits is the prototype of every object. */
function ownValue(tree: JsonObject, name: string): unknown {
  return Object.hasOwn(tree, name) ? tree[name] : undefined;
}

/** Sets an own property, whatever its name: a file may say `__proto__`. */
function define(tree: JsonObject, name: string, value: unknown): void {
  Object.defineProperty(tree, name, { value, writable: true, enumerable: true, configurable: true });
}

function deepFreeze<T extends object>(value: T): T {
  for (const child of Object.values(value))
    if (typeof child === 'object' && child !== null) deepFreeze(child as object);
  return Object.freeze(value);
}
