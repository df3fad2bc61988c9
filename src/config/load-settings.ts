import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { z } from 'zod';
import { type AppError, usageError } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/exact-json.ts';
import { problemText } from '../core/words.ts';
import {
  readClusterKey,
  readSecret,
  readSigningKeys,
  secretPlace,
  secretVariables,
  type Environment,
  type Secrets,
} from './environment.ts';
import { readProjects, type ConfiguredKey } from './projects.ts';
import { httpUrlProblem, postgresUrlProblem } from './addresses.ts';
import { Settings } from './settings.ts';
import { assign, holdsPath, merge, ownValue, readYaml } from './settings-tree.ts';

/** The settings of the command line: a file, and single settings by their dotted path. */
export type SettingsFlags = {
  configFile?: string | undefined;
  set?: readonly { path: string; value: unknown }[];
  /** The name of one of several projects. */
  project?: string | undefined;
};

/** A project's settings. The API key stands beside them, so that printing settings cannot print it. */
export type LoadedSettings = {
  name: string;
  settings: Settings;
  /** The `dataDir` of the configuration itself, then that of each of its projects. */
  folders: readonly string[];
} & ConfiguredKey;

/** The whole configuration: one project or several. */
export type LoadedProjects = { projects: [LoadedSettings, ...LoadedSettings[]]; secrets: Secrets };

const settingVariables: Readonly<Record<string, string>> = {
  MIRROR_BASE_URL: 'service.baseUrl',
  MIRROR_PROJECT_ID: 'service.projectId',
  MIRROR_DATA_DIR: 'dataDir',
  MIRROR_CLUSTER_MACHINE: 'cluster.machine',
  MIRROR_LOG_LEVEL: 'log.level',
};
const otherVariables = ['MIRROR_CONFIG', ...secretVariables.flatMap((name) => [name, `${name}_FILE`])];

const defaultsFile = new URL('../../config/default.yaml', import.meta.url);
let defaults: JsonObject | undefined;

/** Reads defaults, file, environment, flags and projects; later ones win. Throws one `usage` with every problem. */
export function loadProjects(environment: Environment, flags: SettingsFlags = {}): LoadedProjects {
  const tree = structuredClone((defaults ??= readYaml(defaultsFile)));
  const file = flags.configFile ?? (environment['MIRROR_CONFIG'] || undefined);
  const problems = unknownVariables(environment);
  if (file !== undefined) mergeFile(tree, readYaml(file), problems);
  for (const [variable, path] of Object.entries(settingVariables)) {
    const value = environment[variable];
    if (value !== undefined && value !== '') assign(tree, path, value);
  }
  for (const { path, value } of flags.set ?? []) assign(tree, path, value);
  const secrets = readSecrets(environment, problems);
  const key = {
    apiKey: readSecret(environment, 'MIRROR_API_KEY', 'API key', problems),
    keyFrom: secretPlace(environment, 'MIRROR_API_KEY'),
  };
  const folders: string[] = [tree['dataDir']].filter((folder) => typeof folder === 'string');
  const loaded = readProjects(tree, key, problems).flatMap((project): LoadedSettings[] => {
    const parsed = Settings.safeParse(project.tree);
    if (parsed.success) {
      const { name, apiKey, keyFrom } = project;
      folders.push(parsed.data.dataDir);
      return [{ name, apiKey, keyFrom, folders, settings: deepFreeze(parsed.data) }];
    }
    problems.push(...parsed.error.issues.flatMap((issue) => problemsOf(issue, project)));
    return [];
  });
  const [first, ...others] = loaded;
  const { storage = null, database = null } = first?.settings.cluster ?? {};
  if (storage !== null && (database ?? secrets.clusterDatabase) === null)
    problems.push('cluster.storage: needs cluster.database, which says which machine holds a project');
  if (storage !== null && secrets.clusterKey === null)
    problems.push('cluster.storage: needs a key of 64 hex digits: set MIRROR_CLUSTER_KEY or MIRROR_CLUSTER_KEY_FILE');
  // A ledger is named after its first key: with one key, two ledgers would have one name.
  if (others.length > 0 && (secrets.signingKeys.length > 0 || first?.settings.audit.signer))
    problems.push('audit.signer, MIRROR_SIGNING_KEY: several projects cannot share a signing key');
  if (first === undefined || problems.length > 0) throw configurationError([...new Set(problems)]);
  return { projects: [first, ...others], secrets };
}

/** The settings of the named or only project. Throws as `loadProjects`, and where several are and none is named. */
export function loadSettings(
  environment: Environment,
  flags: SettingsFlags = {},
): LoadedSettings & { secrets: Secrets } {
  const { projects, secrets } = loadProjects(environment, flags);
  const [first, second] = projects;
  if (flags.project === undefined && second === undefined) return { ...first, secrets };
  const found = projects.find(({ name }) => name === flags.project);
  if (found) return { ...found, secrets };
  const names = projects.map(({ name }) => name).join(', ');
  throw usageError(
    flags.project === undefined ? 'several projects are configured' : 'no project of that name is configured',
    `name one with --project: ${names}`,
  );
}

/** Settings in the form of a configuration file. */
export function formatSettings(settings: Settings): string {
  return stringify(settings);
}

/** Lays a configuration file over the defaults. Says once where it has something else in the place of a group of settings. */
function mergeFile(tree: JsonObject, file: JsonObject, problems: string[]): void {
  const wrong = Object.keys(file).filter((name) => isJsonObject(ownValue(tree, name)) && !isJsonObject(file[name]));
  problems.push(...wrong.map((name) => `${name}: has to be a map of settings`));
  merge(tree, Object.fromEntries(Object.entries(file).filter(([name]) => !wrong.includes(name))));
}

function configurationError(problems: readonly string[]): AppError {
  return usageError(
    `the configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    `${fileURLToPath(defaultsFile)} explains every setting`,
  );
}

/** One line for each problem: the setting's path and what is wrong. It may name the value's type, never the value. */
function problemsOf(issue: z.core.$ZodIssue, { path: projectPath, own }: { path: string; own: JsonObject }): string[] {
  const named = (path: readonly PropertyKey[]): string =>
    `${holdsPath(own, path) ? projectPath : ''}${path.map(String).join('.')}`;
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => {
      const path = named([...issue.path, name]);
      return `${path}: unknown setting${similarTo(path.slice(projectPath.length))}`;
    });
  return [`${named(issue.path) || 'the file'}: ${problemText(issue)}`];
}

/** The settings of that name in another group, or spelled nearly so, as a question; empty where there is none. */
function similarTo(path: string): string {
  const names = Object.entries(Settings.shape).flatMap(([name, setting]) =>
    setting instanceof z.ZodObject
      ? [name].concat(Object.keys(setting.shape).map((inner) => `${name}.${inner}`))
      : [name],
  );
  const similar = names.filter(
    (name) => `.${name}`.toLowerCase().endsWith(`.${path}`.toLowerCase()) || isOneSlip(name, path),
  );
  return similar.length === 0 ? '' : ` (did you mean ${similar.slice(0, 3).join(' or ')}?)`;
}

/** Whether one letter more, less or another, or two that changed places, make one text of the other. */
function isOneSlip(a: string, b: string): boolean {
  const from = [...a].findIndex((letter, at) => letter !== b[at]);
  const at = from === -1 ? a.length : from;
  const isSame = (skipA: number, skipB: number): boolean => a.slice(at + skipA) === b.slice(at + skipB);
  const isSwapped = a[at] === b[at + 1] && a[at + 1] === b[at];
  return isSame(0, 1) || isSame(1, 0) || isSame(1, 1) || (isSwapped && isSame(2, 2));
}

function unknownVariables(environment: Environment): string[] {
  const known = [...Object.keys(settingVariables), ...otherVariables];
  return Object.keys(environment)
    .filter((name) => name.startsWith('MIRROR_') && !known.includes(name))
    .map((name) => `${name}: unknown variable (known are ${known.join(', ')})`);
}

function readSecrets(environment: Environment, problems: string[]): Secrets {
  const alertWebhook = readSecret(environment, 'MIRROR_ALERT_WEBHOOK', 'address of the webhook', problems);
  const problem = alertWebhook === null ? null : httpUrlProblem(alertWebhook);
  if (problem !== null) problems.push(`MIRROR_ALERT_WEBHOOK: ${problem}`);
  const clusterDatabase = readSecret(environment, 'MIRROR_CLUSTER_DATABASE', 'address of the database', problems);
  const wrong = clusterDatabase === null ? null : postgresUrlProblem(clusterDatabase);
  if (wrong !== null) problems.push(`MIRROR_CLUSTER_DATABASE: ${wrong}`);
  return {
    alertWebhook,
    clusterDatabase,
    clusterKey: readClusterKey(environment, problems),
    alertRoutingKey: readSecret(environment, 'MIRROR_ALERT_ROUTING_KEY', 'routing key', problems),
    statusToken: readSecret(environment, 'MIRROR_STATUS_TOKEN', 'token', problems),
    signingKeys: readSigningKeys(environment, problems),
  };
}

function deepFreeze<T extends object>(value: T): T {
  for (const child of Object.values(value))
    if (typeof child === 'object' && child !== null) deepFreeze(child as object);
  return Object.freeze(value);
}
