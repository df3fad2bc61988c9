import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addGlobalOptions, settingsFlags, splitPair, type GlobalOptions } from '../../src/cli/global-options.ts';

/** What the given arguments say. */
function options(...argv: string[]): GlobalOptions {
  const program = addGlobalOptions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return program.parse(argv, { from: 'user' }).opts<GlobalOptions>();
}

test('nothing given says nothing', () => {
  expect(settingsFlags(options())).toEqual({ configFile: undefined, set: [] });
});

test('settings come in their order, the flags of their own name last', () => {
  const given = options(
    '--set=persons.pageSize=500',
    '--data-dir=/srv/mirror',
    '--log-level=debug',
    '--set=export.mask=[name, email]',
    '--set=dataDir=other',
    '--config=a.yaml',
    '--json',
  );
  expect(given.json).toBe(true);
  expect(settingsFlags(given)).toEqual({
    configFile: 'a.yaml',
    set: [
      { path: 'persons.pageSize', value: 500 },
      { path: 'export.mask', value: ['name', 'email'] },
      { path: 'dataDir', value: 'other' },
      { path: 'dataDir', value: '/srv/mirror' },
      { path: 'log.level', value: 'debug' },
    ],
  });
});

test.for([
  ['name=value', ['name', 'value']],
  ['name=', ['name', '']],
  ['name=a=b', ['name', 'a=b']],
  ['a b=c', ['a b', 'c']],
] as const)('%j is split into %j', ([text, pair]) => {
  expect(splitPair('--set', text)).toEqual(pair);
});

test.for(['', 'name', '=value'])('%j is no pair', (text) => {
  expect(() => splitPair('--set', text)).toThrow(
    expect.objectContaining({ code: 'usage', message: '--set takes name=value' }),
  );
  expect(() => options('--set', text)).toThrow('--set takes name=value');
});

test('a value that is not YAML is a usage error', () => {
  expect(() => options('--set', 'export.mask=[')).toThrow(expect.objectContaining({ code: 'usage' }));
});
