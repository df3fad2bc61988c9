import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatSettings, loadSettings } from '../../src/config/load-settings.ts';
import { parseSettingValue } from '../../src/config/setting-value.ts';
import { AppError } from '../../src/core/errors.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

/** A file with the given text, gone when the test has ended. */
function file(text: string): string {
  const path = join(temporaryFolder(), 'mirror.yaml');
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** The settings under a configuration file alone. */
const under = (yaml: string) => loadSettings({}, { configFile: file(yaml) }).settings;

/** The error that a call ends with, which must be a usage error. */
function usageError(call: () => unknown): AppError {
  try {
    call();
  } catch (error) {
    if (error instanceof AppError && error.code === 'usage') return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const problems = (call: () => unknown): string[] =>
  usageError(call)
    .message.split('\n')
    .slice(1)
    .map((line) => line.trim());

test('nothing but the defaults is valid', () => {
  const { settings, apiKey } = loadSettings({});
  expect(settings).toMatchObject({ dataDir: './data', service: { baseUrl: null, pathPrefix: '/api/environments' } });
  expect(apiKey).toBeNull();
});

test('the file wins over the defaults, the environment over the file, flags over the environment', () => {
  const configFile = file('dataDir: ./file\nlog: {level: warn}\nservice: {projectId: 3}\nexport: {keep: 9}\n');
  const environment = { MIRROR_DATA_DIR: './environment', MIRROR_LOG_LEVEL: 'error' };
  const flags = { configFile, set: [{ path: 'dataDir', value: './flag' }] };
  expect(loadSettings(environment, flags).settings).toMatchObject({
    dataDir: './flag',
    log: { level: 'error' },
    service: { projectId: '3', pathPrefix: '/api/environments' },
    export: { keep: 9 },
  });
});

test('the last of two flags wins', () => {
  const set = [1, 2].map((value) => ({ path: 'export.keep', value }));
  expect(loadSettings({}, { set }).settings.export.keep).toBe(2);
});

test('the flag names the file before the environment does', () => {
  const [first, second] = [file('export: {keep: 1}'), file('export: {keep: 2}')];
  expect(loadSettings({ MIRROR_CONFIG: first }).settings.export.keep).toBe(1);
  expect(loadSettings({ MIRROR_CONFIG: first }, { configFile: second }).settings.export.keep).toBe(2);
});

test('maps are merged, lists are replaced', () => {
  const settings = under(
    'budget: {windows: [{requests: 1, perSeconds: 2}]}\nrecordings: {query: {date_from: -30d}}\nexport: {mask: [name]}',
  );
  expect(settings.budget.windows).toEqual([{ requests: 1, perSeconds: 2 }]);
  expect(settings.budget.concurrency).toBe(4);
  expect(settings.recordings).toMatchObject({ pageSize: 1000, query: { date_from: '-30d' } });
  expect(settings.export.mask).toEqual(['name']);
  expect(under('budget: {windows: []}').budget.windows).toEqual([]);
});

test('an empty file changes nothing', () => {
  expect(under('# nothing\n')).toEqual(loadSettings({}).settings);
});

test('every variable that is a setting is one', () => {
  const { settings, apiKey } = loadSettings({
    MIRROR_BASE_URL: 'https://analytics.example.com',
    MIRROR_PROJECT_ID: '42',
    MIRROR_DATA_DIR: '/srv/mirror',
    MIRROR_LOG_LEVEL: 'debug',
    MIRROR_API_KEY: 'phx_key',
    MIRROR_API_KEY_FILE: '',
    MIRROR_CONFIG: '',
    PATH: '/usr/bin',
    UNSET: undefined,
  });
  expect(settings).toMatchObject({
    service: { baseUrl: 'https://analytics.example.com', projectId: '42' },
    dataDir: '/srv/mirror',
    log: { level: 'debug' },
  });
  expect(apiKey).toBe('phx_key');
});

test('an empty variable is not set', () => {
  expect(loadSettings({ MIRROR_DATA_DIR: '', MIRROR_API_KEY: '' })).toMatchObject({
    settings: { dataDir: './data' },
    apiKey: null,
  });
});

test('every problem is named at once, by its path and without its value', () => {
  const configFile = file(
    [
      'dataDir: ""',
      'colour: secret-1',
      'service: {projectId: secret/2, timeoutMs: 5, baseUrl: "secret-3"}',
      'persons: {pageSize: secret-4}',
      'budget: {recordings: {windows: [{requests: 0, perSeconds: 1, burst: 2}]}}',
      'log: {level: secret-5}',
    ].join('\n'),
  );
  const environment = { MIRROR_APIKEY: 'secret-6', MIRROR_API_KEY: 'secret 7' };
  const found = problems(() => loadSettings(environment, { configFile }));
  expect(found.map((line) => line.split(': ')[0] ?? '').toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'MIRROR_APIKEY',
    'MIRROR_API_KEY',
    'budget.recordings.windows.0.burst',
    'budget.recordings.windows.0.requests',
    'colour',
    'dataDir',
    'log.level',
    'persons.pageSize',
    'service.baseUrl',
    'service.projectId',
    'service.timeoutMs',
  ]);
  expect(found.join('\n')).not.toContain('secret');
});

test('one problem is called one', () => {
  expect(usageError(() => under('colour: red')).message).toBe(
    'the configuration has a problem:\n  colour: unknown setting',
  );
});

test.for(['__proto__: {keep: 1}', 'service: {__proto__: {polluted: 1}}', 'constructor: {prototype: {polluted: 1}}'])(
  'a file with %j changes no prototype',
  (yaml) => {
    expect(problems(() => under(yaml))).toHaveLength(1);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  },
);

test.for(['__proto__.polluted', 'service.__proto__.polluted', 'constructor.prototype.polluted'])(
  'a flag for %s changes no prototype',
  (path) => {
    expect(problems(() => loadSettings({}, { set: [{ path, value: 1 }] }))).toHaveLength(1);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  },
);

test.for([
  ['[1, 2]', /must be a map of settings/],
  ['just text', /must be a map of settings/],
  ['dataDir: [', /is not valid YAML at line 1/],
  ['a: 1\na: 2', /is not valid YAML at line 2 \(DUPLICATE_KEY\)/],
  ['a: *nobody', /is not valid YAML \(an alias/],
  ['dataDir: !env HOME', /is not valid YAML at line 1 \(TAG_RESOLVE_FAILED\)/],
] as const)('a file with %j is refused', ([yaml, message]) => {
  expect(usageError(() => under(yaml)).message).toMatch(message);
});

test('a file that is not UTF-8 is refused: another spelling of a property would not mask it', () => {
  for (const encoding of ['latin1', 'utf16le'] as const) {
    const configFile = file('');
    writeFileSync(configFile, Buffer.from('\ufeffexport: {mask: [größe]}', encoding));
    expect(usageError(() => loadSettings({}, { configFile })).message).toBe(
      `the configuration file is not UTF-8: ${configFile}`,
    );
  }
});

test('a folder that begins with ~ is refused: no shell has replaced it', () => {
  for (const dataDir of ['~', '~/mirror'])
    expect(problems(() => under(`dataDir: ${dataDir === '~' ? '"~"' : dataDir}`))).toEqual([
      'dataDir: begins with ~, which only a shell replaces; write the whole path',
    ]);
  expect(under('dataDir: ./~').dataDir).toBe('./~');
});

test('a file that cannot be read is named with the reason', () => {
  expect(usageError(() => loadSettings({}, { configFile: '/missing.yaml' })).message).toBe(
    'the configuration file cannot be read: /missing.yaml (ENOENT)',
  );
  expect(usageError(() => loadSettings({ MIRROR_API_KEY_FILE: '/missing' })).message).toBe(
    'MIRROR_API_KEY_FILE cannot be read: /missing (ENOENT)',
  );
});

test('the key comes from its file before the environment, without the line feed at its end', () => {
  const environment = { MIRROR_API_KEY: 'other', MIRROR_API_KEY_FILE: file('phx_key\r\n') };
  expect(loadSettings(environment).apiKey).toBe('phx_key');
});

test.for([`'phx_key'`, `"phx_key"`])('quotes around a key are told, as an env file keeps them: %s', (key) => {
  const { message } = usageError(() => loadSettings({ MIRROR_API_KEY: key }));
  expect(message).toContain('MIRROR_API_KEY: the API key stands in quotes, which do not belong to it');
  expect(message).not.toContain('phx_key');
});

test.for(['MIRROR_API_KEY_FILE', 'MIRROR_STATUS_TOKEN_FILE', 'MIRROR_ALERT_WEBHOOK_FILE', 'MIRROR_SIGNING_KEY_FILE'])(
  'a file of %s that is empty is a problem, and not no secret',
  (variable) => {
    for (const text of ['', '\n']) {
      const path = file(text);
      expect(problems(() => loadSettings({ [variable]: path }))).toEqual([`${variable}: ${path} is empty`]);
    }
  },
);

test.for(['phx key', 'phx\nkey', 'phx\u0000key', 'phx-ключ'])('the key %j is refused and not shown', (key) => {
  for (const environment of [{ MIRROR_API_KEY: key }, { MIRROR_API_KEY_FILE: file(key) }]) {
    const [problem = ''] = problems(() => loadSettings(environment));
    expect(problem).toMatch(/^MIRROR_API_KEY(_FILE)?: the API key holds a space or another character/);
    expect(problem).not.toContain('phx');
  }
});

test('settings hold no key and cannot be changed, down to their leaves', () => {
  const { settings } = loadSettings({ MIRROR_API_KEY: 'phx_key' });
  expect(JSON.stringify(settings)).not.toContain('phx_key');
  const objects: object[] = [settings];
  for (const object of objects) {
    expect(Object.isFrozen(object)).toBe(true);
    objects.push(...Object.values(object).filter((child) => typeof child === 'object' && child !== null));
  }
  expect(objects.length).toBeGreaterThan(10);
});

test('settings are written as a file that is read as the same settings', () => {
  const settings = under('budget: {windows: []}\nrecordings: {query: {date_from: -30d}}');
  expect(under(formatSettings(settings))).toEqual(settings);
});

test.for([
  ['500', 500],
  ['auto', 'auto'],
  ['[a, b]', ['a', 'b']],
  ['', null],
  ['* * * * *', '* * * * *'],
] as const)('the flag value %j is %j', ([text, value]) => {
  expect(parseSettingValue(text)).toEqual(value);
});

test('a flag value that is not YAML is refused', () => {
  expect(usageError(() => parseSettingValue('[')).message).toBe('the value of the setting is not valid YAML');
});

test('something else in the place of a group is one problem, also beside a variable of that group', () => {
  const configFile = file('service: [1]\nbudgett: {}\n__proto__: 1\n');
  expect(problems(() => loadSettings({ MIRROR_BASE_URL: 'https://a.example' }, { configFile })).toSorted()).toEqual([
    '__proto__: unknown setting',
    'budgett: unknown setting (did you mean budget?)',
    'service: has to be a map of settings',
  ]);
});

test('an unknown setting is told with those of that name, a wrong type with what is expected', () => {
  const set = [
    { path: 'persons.pagesize', value: 5 },
    { path: 'shortIds', value: ['a'] },
    { path: 'nonsense', value: 1 },
    { path: 'foo', value: 1 },
    { path: 'query', value: [1] },
    { path: 'export.keep', value: 'three' },
    { path: 'persons.overlap', value: '80%' },
    ...['dataDirr', 'schedule.dalta', 'schedule.dleta', 'schedule.fulll', 'export.kep', 'service.sfoo'].map((path) => ({
      path,
      value: 1,
    })),
  ];
  expect(problems(() => loadSettings({}, { set }))).toEqual([
    'service.sfoo: unknown setting',
    'persons.overlap: has to be auto, or a number of rows',
    'persons.pagesize: unknown setting (did you mean persons.pageSize?)',
    'export.keep: has to be a number',
    'export.kep: unknown setting (did you mean export.keep?)',
    'schedule.dalta: unknown setting (did you mean schedule.delta?)',
    'schedule.dleta: unknown setting (did you mean schedule.delta?)',
    'schedule.fulll: unknown setting (did you mean schedule.full?)',
    'query: has to be a map of settings',
    'shortIds: unknown setting (did you mean playlists.shortIds?)',
    'nonsense: unknown setting',
    'foo: unknown setting',
    'dataDirr: unknown setting (did you mean dataDir?)',
  ]);
  expect(problems(() => loadSettings({ MIRROR_PROJCT_ID: '1' }, {}))).toEqual([
    expect.stringMatching(/^MIRROR_PROJCT_ID: unknown variable \(known are MIRROR_BASE_URL, MIRROR_PROJECT_ID, /),
  ]);
});
