import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../core/exact-json.ts';
import { isWithin } from '../core/folder.ts';
import { readSecretFile } from './environment.ts';
import { merge, ownValue } from './settings-tree.ts';
import { mirroredDatasets } from '../contract/datasets.ts';

/** The key of a project, and where it comes from, in words for a message. */
export type ConfiguredKey = { apiKey: string | null; keyFrom: string };

/** A project before its settings are checked. */
type ProjectTree = {
  name: string;
  /** All its settings; the settings that are its own, and their place in the file (`projects.0.`). */
  tree: JsonObject;
  own: JsonObject;
  path: string;
} & ConfiguredKey;

/** The name of the only project if none is configured. */
export const onlyName = 'default';

/** Names the project in every command of a text, unless there is only one. Commands stand between backticks. */
export function forProject(text: string, project: string): string {
  return project === onlyName
    ? text
    : text.replaceAll('`analytics-mirror ', `\`analytics-mirror --project ${project} `);
}

/** The groups of settings that a project may have of its own. */
const ownGroups = ['service', 'budget', ...mirroredDatasets, 'export', 'erasure', 'schedule'];
const ownNames = ['name', 'dataDir', 'apiKeyFile', ...ownGroups];

/** The projects in a tree of settings, each laid over the tree. Adds problems by path. Nameless ones are left out. */
export function readProjects(tree: JsonObject, key: ConfiguredKey, problems: string[]): ProjectTree[] {
  const { projects: listed, ...shared } = tree;
  if (listed === undefined || listed === null || (Array.isArray(listed) && listed.length === 0))
    return [{ name: onlyName, tree: shared, own: {}, path: '', ...key }];
  if (!Array.isArray(listed)) {
    problems.push('projects: is not a list');
    return [];
  }
  const projects = listed.flatMap((item: unknown, index): ProjectTree[] => {
    const path = `projects.${index}.`;
    if (!isJsonObject(item)) {
      problems.push(`projects.${index}: is not a map of settings`);
      return [];
    }
    return readProject(item, path, shared, key, problems);
  });
  problems.push(...conflicts(projects));
  return projects;
}

function readProject(
  item: JsonObject,
  path: string,
  shared: JsonObject,
  sharedKey: ConfiguredKey,
  problems: string[],
): ProjectTree[] {
  for (const unknown of Object.keys(item).filter((key) => !ownNames.includes(key)))
    problems.push(`${path}${unknown}: unknown setting, or not one that a project may have of its own`);
  const { name, apiKeyFile } = item;
  const isName = typeof name === 'string' && /^[\w-]{1,64}$/.test(name) && name !== onlyName;
  if (!isName) problems.push(`${path}name: is a word of letters, digits, - and _, and not ${onlyName}`);
  if (apiKeyFile !== undefined && typeof apiKeyFile !== 'string')
    problems.push(`${path}apiKeyFile: is the path of a file`);
  if (!isName) return [];
  const dataDir = ownValue(shared, 'dataDir');
  const own = {
    dataDir: typeof dataDir === 'string' && dataDir !== '' ? join(dataDir, name) : dataDir,
    ...Object.fromEntries(Object.entries(item).filter(([key]) => key === 'dataDir' || ownGroups.includes(key))),
  };
  const merged = structuredClone(shared);
  merge(merged, own);
  const ownKey = (file: string): ConfiguredKey => ({
    apiKey: readSecretFile(file, `${path}apiKeyFile`, 'API key', problems),
    keyFrom: `the file that \`apiKeyFile\` of project ${name} names`,
  });
  return [{ name, tree: merged, own, path, ...(typeof apiKeyFile === 'string' ? ownKey(apiKeyFile) : sharedKey) }];
}

/** Where what a project publishes goes, beside its folder: by the setting, the place, and what tells two projects apart there. */
function placesIn({ export: own }: JsonObject): [name: string, place: unknown, apart: string][] {
  if (!isJsonObject(own)) return [];
  const load = isJsonObject(own['load']) ? own['load'] : {};
  const folder = (place: unknown): unknown => (typeof place === 'string' ? place.replace(/(?<!\/)\/+$/, '') : place);
  return [
    ['destination', folder(own['destination']), 'prefix'],
    ['publicRoot', folder(own['publicRoot']), 'prefix'],
    ['load.into', load['into'] && JSON.stringify([load['into'], load['schema']]), 'schema'],
  ];
}

/** Checks that projects differ in name, folder and places, and that projects with the same key have the same budget. */
function conflicts(projects: readonly ProjectTree[]): string[] {
  return projects.flatMap(({ name, path, tree, apiKey }, index) => {
    const earlier = projects.slice(0, index);
    const folder = tree['dataDir'];
    const isTaken = earlier.some(
      ({ tree: { dataDir } }) =>
        typeof folder === 'string' &&
        typeof dataDir === 'string' &&
        (isWithin(dataDir, folder) || isWithin(folder, dataDir)),
    );
    const shared = placesIn(tree).filter(
      ([, place], nth) => place && earlier.some((other) => placesIn(other.tree)[nth]?.[1] === place),
    );
    const sameKey = earlier.find((other) => apiKey !== null && other.apiKey === apiKey);
    return [
      ...(earlier.some((other) => other.name === name) ? [`${path}name: another project has the same`] : []),
      ...shared.map(
        ([setting, , apart]) =>
          `${path}export.${setting}: another project has the same; give each a ${apart} of its own`,
      ),
      ...(isTaken ? [`${path}dataDir: lies in that of another project, or around it, or is the same`] : []),
      ...(sameKey && !isDeepStrictEqual(sameKey.tree['budget'], tree['budget'])
        ? [`${path}budget: differs from that of project ${sameKey.name}, which has the same key`]
        : []),
    ];
  });
}
