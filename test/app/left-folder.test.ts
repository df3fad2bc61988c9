import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createApp, createProjectApps } from '../../src/app/app.ts';
import { findingsOf } from '../../src/cli/commands/doctor.ts';
import { claimMirror } from '../../src/mirror/runs.ts';
import { freshFolder, openTestMirror } from '../mirror/open-test-mirror.ts';

const baseUrl = 'https://analytics.example.com';

/** Makes a mirror that has had a row of a project. */
function putMirror(dataDir: string, projectId: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const { db } = openTestMirror(dataDir);
  claimMirror(db, { origin: baseUrl, projectId }, null);
  db.exec(`INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'a', 'upsert', '2026-01-01T00:00:00Z')`);
}

/** Builds the program for a configuration with these projects, or with the only project 1, in a folder. */
async function build(dataDir: string, projects?: readonly object[]): Promise<void> {
  const configFile = join(freshFolder(), 'config.json');
  writeFileSync(configFile, JSON.stringify({ service: { baseUrl, projectId: '1' }, projects }));
  const flags = { configFile, set: [{ path: 'dataDir', value: dataDir }] };
  const surroundings = { environment: {}, isTerminal: false };
  if (projects) await createProjectApps(surroundings, flags)[Symbol.asyncDispose]();
  else await createApp(surroundings, flags)[Symbol.asyncDispose]();
}

describe('a project that another configuration gave another folder', () => {
  it.each([
    ['as the only one', '', [{ name: 'shop' }]],
    ['under another name', 'store', [{ name: 'shop' }, { name: 'other', service: { projectId: '2' } }]],
    ['as one of several', 'shop', undefined],
  ])('is not begun again: %s', async (_before, left, projects) => {
    const base = freshFolder();
    putMirror(join(base, left), '1');
    await expect(build(base, projects)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(`${join(base, left)} has this project already`) as string,
    });
  });

  it.each([
    ['is open to others', (folder: string) => chmodSync(folder, 0o755)],
    ['has lost its mirror', (folder: string) => rmSync(join(folder, 'mirror.db'))],
    [
      'is a link',
      (folder: string) => {
        renameSync(folder, join(folder, '../../elsewhere'));
        symlinkSync(join(folder, '../../elsewhere'), folder);
      },
    ],
  ])('is not begun again, where the other folder %s', async (_what, change) => {
    const base = join(freshFolder(), 'data');
    const left = join(base, 'store');
    putMirror(left, '1');
    mkdirSync(join(left, 'ledger'));
    writeFileSync(join(left, 'ledger/entries.jsonl'), '{}\n');
    change(left);
    await expect(build(base, [{ name: 'shop' }])).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/ has this project already/) as string,
    });
  });

  it.each([
    ['of another project', '2', [{ name: 'shop' }]],
    ['of a project that is configured', '1', [{ name: 'shop' }, { name: 'store', dataDir: 'STORE' }]],
  ])('may stand beside a folder %s', async (_what, projectId, projects) => {
    const base = freshFolder();
    const store = join(base, 'store');
    putMirror(store, projectId);
    const given = JSON.parse(JSON.stringify(projects).replace('STORE', store)) as object[];
    await expect(build(base, given)).resolves.toBeUndefined();
  });

  it('goes on where it has a mirror, whatever stands beside it', async () => {
    const base = freshFolder();
    putMirror(join(base, 'shop'), '1');
    putMirror(join(base, 'store'), '1');
    await expect(build(base, [{ name: 'shop' }])).resolves.toBeUndefined();
  });

  it('is named by doctor, once no project of the configuration uses its folder', async () => {
    const base = freshFolder();
    for (const name of ['shop', 'store']) putMirror(join(base, name), name);
    const named = async (names: readonly string[]): Promise<string[]> => {
      const projects = names.map((name) => ({ name, service: { projectId: name } }));
      const configFile = join(freshFolder(), 'config.json');
      writeFileSync(configFile, JSON.stringify({ dataDir: base, service: { baseUrl }, projects }));
      await using app = createApp({ environment: {}, isTerminal: false }, { configFile, project: 'shop' });
      const found = await findingsOf(app, AbortSignal.abort());
      return found.flatMap(({ check, state, detail }) => (check === 'other folder' ? [`${state}: ${detail}`] : []));
    };
    symlinkSync('store', join(base, 'former name of the store'));
    expect(await named(['shop', 'store'])).toEqual([]);
    rmSync(join(base, 'former name of the store'));
    expect(await named(['shop'])).toEqual([expect.stringContaining(`warning: ${join(base, 'store')} has a mirror`)]);
  });
});
