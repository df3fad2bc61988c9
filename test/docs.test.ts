import { existsSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../src/cli/errors.ts';
import { loadProjects, loadSettings } from '../src/config/load-settings.ts';
import { isJsonObject } from '../src/core/exact-json.ts';
import { attentionReasons, heldReasons } from '../src/ledger/vocabulary.ts';
import { metricsText } from '../src/status/metrics.ts';
import { alertKinds } from '../src/config/alert-kinds.ts';
import { endpointNames } from '../src/contract/endpoints.ts';
import { runCliHere } from './cli/run-cli.ts';
import { found, repository, texts, wordsOf } from './pages.ts';

/** The pages of those who run the worker, as one text. */
const operations = texts
  .filter(({ path }) => path.startsWith('docs/operations/'))
  .map(({ words }) => words)
  .join('\n');
const { settings } = loadSettings({});
const endpointNameSet = new Set<string>(endpointNames);

function isSetting(path: string): boolean {
  let node: unknown = settings;
  for (const name of path.split('.')) {
    if (!isJsonObject(node) || !Object.hasOwn(node, name)) return false;
    node = node[name];
  }
  return true;
}

/** Settings that a text names: `group.name` in code, and what --set assigns. */
function namedSettings(words: string): string[] {
  const groups = Object.keys(settings).join('|');
  return [
    ...found(words, new RegExp(`\`((?:${groups})\\.\\w[\\w.]*)\``, 'g')).filter(
      (name) => !endpointNameSet.has(name) && !name.endsWith('.ts'),
    ),
    ...found(words, /--set[ ,]+'?([\w.]+)=/g),
  ];
}

/** The variables that a text names and the program does not know. */
function unknownVariables(words: string): string[] {
  return found(words, /\b(MIRROR_[A-Z_]+)\b/g).filter((name) => {
    try {
      loadProjects({ [name]: '' });
      return false;
    } catch {
      return true;
    }
  });
}

function namedMetrics(words: string): string[] {
  return found(words, /\b(analytics_mirror_\w+)/g);
}

/** The metrics of the worker. */
const metrics = new Set<string>();

/** The help of every command by its words, as `erase add`. */
const helps = new Map<string, string>();

async function readHelps(words: readonly string[]): Promise<void> {
  const { stdout: help } = await runCliHere([...words, '--help']);
  helps.set(words.join(' '), help);
  const listed = found(help.split(/^Commands:$/m)[1]?.split(/^\S/m)[0] ?? '', /^ {2}([a-z][a-z-]*)/gm);
  for (const name of listed.filter((each) => each !== 'help')) await readHelps([...words, name]);
}

/** The command lines that a text names, in code, as lines to type, or as what a file starts. */
function namedCommands(words: string): string[] {
  return found(words, /(?:`analytics-mirror|mirror --|src\/main\.ts) ([a-z][^`\n]*)/g);
}

/** The command lines in the first cells of the table of commands. */
function listedCommands(words: string): string[] {
  return found(words, /^\| `([a-z][^`]*)` \|/gm);
}

/** The npm scripts that a text tells to run. */
function namedScripts(words: string): string[] {
  return found(words, /npm (?:run (?:--silent )?)([a-z][a-z:-]*)/g);
}

const { scripts } = JSON.parse(readFileSync(new URL('package.json', repository), 'utf8')) as {
  scripts: Record<string, string>;
};

/** What is wrong with a command line: words that are no command, options that it does not take. */
function wrongWith(line: string): string[] {
  const [first = '', second = ''] = line.split(' ');
  const command = [`${first} ${second}`, first].find((name) => helps.has(name));
  if (command === undefined) return [`no command: ${line}`];
  const help = helps.get(command) ?? '';
  // What has commands of its own does nothing by itself.
  if (/^Commands:$/m.test(help)) return [`not a whole command: ${line}`];
  const options = found(line, /(?<=[\s(|[])(--[a-z][a-z-]*)/g);
  return options.filter((option) => !help.includes(option)).map((option) => `${command} takes no ${option}`);
}

beforeAll(async () => {
  await readHelps([]);
  const at = '2026-11-20T00:00:00.000Z';
  const served = await metricsText({ at, version: '0', startedAt: at, projects: [] });
  for (const name of found(served, /^# HELP (\S+)/gm)) metrics.add(name);
});

describe('the docs', () => {
  it('are read, and so is what they are held against', () => {
    const all = texts.map(({ words }) => words).join('\n');
    expect(operations).toContain('# Alerts');
    expect(texts.flatMap(({ words }) => namedSettings(words)).length).toBeGreaterThan(30);
    expect(texts.flatMap(({ words }) => namedCommands(words)).length).toBeGreaterThan(40);
    expect(found(all, /\b(MIRROR_[A-Z_]+)\b/g).length).toBeGreaterThan(6);
    expect(namedScripts(all).length).toBeGreaterThan(4);
    expect([...helps.keys()]).toEqual(expect.arrayContaining(['run', 'erase add', 'config print']));
  });

  it.each(texts)('$path names only settings, variables, commands, scripts and metrics that there are', ({ words }) => {
    expect(namedSettings(words).filter((path) => !isSetting(path))).toEqual([]);
    expect(unknownVariables(words)).toEqual([]);
    expect(namedCommands(words).flatMap(wrongWith)).toEqual([]);
    expect(namedMetrics(words).filter((name) => !metrics.has(name))).toEqual([]);
    expect(namedScripts(words).filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it.each(texts)('$path names only files that are there', ({ words }) => {
    const places = found(words, /(?<![\w/])((?:src|test|config|docs)\/[\w./-]+\w)/g)
      .filter((path) => !path.startsWith('docs/secrets/'))
      // The page of the architecture names files from src/ on.
      .filter((path) => !['', 'src/'].some((folder) => existsSync(new URL(folder + path, repository))));
    expect(places).toEqual([]);
  });

  it('list every command with the options that it takes', () => {
    const listed = listedCommands(wordsOf('docs/commands.md'));
    expect(listed.flatMap(wrongWith)).toEqual([]);
    const whole = [...helps].filter(([name, help]) => name !== '' && !/^Commands:$/m.test(help));
    expect(whole.length).toBeGreaterThan(20);
    const isListed = (name: string): boolean => listed.some((line) => `${line} `.startsWith(`${name} `));
    expect(whole.map(([name]) => name).filter((name) => !isListed(name))).toEqual([]);
  });

  it('of operations tell what every alert, reason and exit code means', () => {
    const firstCells = found(operations, /^\| ([^|]+) \|/gm).flatMap((cell) => cell.split(', '));
    const told = new Set(firstCells.map((cell) => cell.replaceAll('`', '')));
    const all = [...alertKinds, ...heldReasons, ...attentionReasons, ...Object.values(exitCodes).map(String)];
    expect(all.filter((name) => !told.has(name))).toEqual([]);
  });

  it('give the worker longer to stop than it takes', () => {
    const graces = [
      ...found(wordsOf('docs/analytics-mirror.service'), /^TimeoutStopSec=(\d+)$/gm),
      ...found(wordsOf('docs/compose.yaml'), /stop_grace_period: (\d+)s/g),
      ...found(wordsOf('docs/kubernetes.yaml'), /terminationGracePeriodSeconds: (\d+)/g),
      ...found(wordsOf('docs/start.md'), /--stop-timeout (\d+)/g),
    ];
    expect(graces).toHaveLength(4);
    expect(graces.filter((seconds) => Number(seconds) <= settings.run.drainSeconds)).toEqual([]);
  });

  it('spell a command as the package does, but where the reader has a checkout', () => {
    const isOfCheckout = (path: string): boolean =>
      !path.startsWith('docs/') || path.startsWith('docs/contributing/') || path === 'docs/start.md';
    expect(texts.filter(({ words }) => words.includes('npm run --silent mirror')).map(({ path }) => path)).toContain(
      'docs/start.md',
    );
    const others = texts.filter(({ path, words }) => !isOfCheckout(path) && words.includes('npm run --silent mirror'));
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  it('give no container a host name: the lease is a lock of the system, and a machine of a cluster has its own name', () => {
    const yaml = texts.filter(({ path }) => /^docs\/compose.*\.yaml$/.test(path));
    expect(yaml).toHaveLength(2);
    expect(yaml.filter(({ words }) => words.includes('hostname')).map(({ path }) => path)).toEqual([]);
  });

  it('are YAML where they say so', () => {
    const yaml = texts.filter(({ path }) => path.endsWith('.yaml'));
    expect(yaml.length).toBeGreaterThan(1);
    const errors = yaml.flatMap(({ words }) => parseAllDocuments(words).flatMap((document) => document.errors));
    expect(errors).toEqual([]);
  });

  it.each([
    ['a setting', () => namedSettings('see `budget.window`').filter((path) => !isSetting(path))],
    ['a setting that is set', () => namedSettings('run --set status.hots=::').filter((path) => !isSetting(path))],
    ['a variable', () => unknownVariables('set MIRROR_API_KEYS')],
    ['a metric', () => namedMetrics('`analytics_mirror_freshness`').filter((name) => !metrics.has(name))],
    ['a command', () => namedCommands('`analytics-mirror erase all`').flatMap(wrongWith)],
    ['a script', () => namedScripts('npm run tests').filter((name) => !Object.hasOwn(scripts, name))],
    ['an option', () => namedCommands('`analytics-mirror export --dry-run`').flatMap(wrongWith)],
  ])('catches %s that there is not', (_what, planted) => {
    expect(planted()).toHaveLength(1);
  });
});
