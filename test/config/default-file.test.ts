import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findDefaultFile } from '../../src/config/default-file.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { shellWord } from '../../src/core/words.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

/** A folder of configurations, and the place of this program's file in it. */
function configurations(): { folder: string; place: string } {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'analytics-mirror'));
  return { folder, place: join(folder, 'analytics-mirror', 'analytics-mirror.yaml') };
}

test('without a file there is none, also where HOME is no folder', () => {
  expect(findDefaultFile({ XDG_CONFIG_HOME: configurations().folder })).toBeUndefined();
  expect(findDefaultFile({ HOME: '/dev/null' })).toBeUndefined();
});

test('a file that cannot be looked for is refused, and not passed over: it may mask properties', () => {
  const { folder, place } = configurations();
  // A link to itself fails as a folder does that this user may not enter, and also for root.
  symlinkSync(place, place);
  expect(() => findDefaultFile({ XDG_CONFIG_HOME: folder })).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: `the configuration file ${place} cannot be looked for (ELOOP)`,
      hint: expect.stringContaining('--config'),
    }),
  );
});

test('a folder in the place of the file, as a container makes it for a missing one, is refused', () => {
  const { folder, place } = configurations();
  mkdirSync(place);
  const configFile = findDefaultFile({ XDG_CONFIG_HOME: folder });
  expect(() => loadSettings({}, { configFile })).toThrow(
    expect.objectContaining({ code: 'usage', message: `the configuration file cannot be read: ${place} (EISDIR)` }),
  );
});

test('a file that ends with yml is told, where it would be passed over', () => {
  const { folder, place } = configurations();
  const other = place.replace('yaml', 'yml');
  writeFileSync(other, 'dataDir: /elsewhere\n');
  expect(() => findDefaultFile({ XDG_CONFIG_HOME: folder })).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: `the configuration file ${other} is not read: its name has to end with .yaml`,
      hint: `run: mv ${shellWord(other)} ${shellWord(place)}`,
    }),
  );
  writeFileSync(place, 'dataDir: /here\n', { mode: 0o600 });
  expect(findDefaultFile({ XDG_CONFIG_HOME: folder })).toBe(place);
});
