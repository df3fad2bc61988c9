import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { copyFolder } from './copy-folder.ts';
import { jsonOf, type Ended } from './run-cli.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

// Each runs a dozen commands, as processes of their own.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

// One project, of which one person was erased; each story begins with a copy of its folder.
let workspace: Workspace;
let uuid: string;
const older = (): string => join(workspace.folder, 'older');
const erased = (): string => join(workspace.folder, 'erased');

beforeAll(async () => {
  workspace = await openWorkspace({ persons: 30, recordings: 10 });
  const { created } = workspace.sandbox.act({
    do: 'create',
    distinct_ids: ['canary-device'],
    properties: { email: 'canary@x.example' },
  });
  uuid = created[0] ?? '';
  for (const command of ['sync', 'export']) await done(command);
  copyFolder(workspace.dataDir, older());
  await done('erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'T-1');
  await done('reconcile');
  copyFolder(workspace.dataDir, erased());
});
afterAll(() => workspace[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Ended> =>
  workspace.run([...args, ...(args[0] === 'sync' ? unlimited : [])], { env: { MIRROR_LOG_LEVEL: 'warn' } });

async function done(...args: string[]): Promise<string> {
  const ended = await run(...args);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return ended.stdout;
}

type Story = { what: string; part: string; told: RegExp; damage: () => void; restore?: () => void };

const stories: Story[] = [
  {
    what: 'older published files',
    part: 'snapshots',
    told: /snapshots\/persons\/\S+\/manifest\.json is another one than the ledger has: an older copy was put back, or it was changed/,
    damage: () => {
      rmSync(join(workspace.dataDir, 'snapshots'), { recursive: true });
      copyFolder(join(older(), 'snapshots'), join(workspace.dataDir, 'snapshots'));
    },
  },
  {
    what: 'the key of another folder',
    part: 'fence_key',
    told: /keys\/fence\.key is another key than the one of this ledger/,
    damage: () => writeFileSync(join(workspace.dataDir, 'keys/fence.key'), `${'7'.repeat(64)}\n`),
    restore: () => cpSync(join(erased(), 'keys/fence.key'), join(workspace.dataDir, 'keys/fence.key')),
  },
];

describe.each(stories)('$what', ({ part, told, damage, restore }) => {
  it('are named by doctor and audit verify, refused by sync and export, mended by reconcile, and reported', async () => {
    rmSync(workspace.dataDir, { recursive: true });
    copyFolder(erased(), workspace.dataDir);
    damage();
    for (const command of [['doctor'], ['audit', 'verify']])
      expect(await run(...command)).toMatchObject({ code: 1, stdout: expect.stringMatching(told) });
    for (const command of ['sync', 'export']) {
      const { code, stderr } = await run(command);
      expect(code).toBe(1);
      const [error = '', hint = '', ...rest] = stderr.split('\n');
      expect(error).toMatch(told);
      expect(hint).toMatch(restore ? /^ {2}restore keys\// : /^ {2}run `analytics-mirror reconcile`/);
      expect(rest).toEqual(['']);
    }
    if (restore) {
      expect(await run('reconcile')).toMatchObject({ code: 1, stderr: expect.stringMatching(told) });
      restore();
    }
    const mended = await done('reconcile');
    if (!restore) expect(mended).toMatch(told);
    await done('doctor');
    expect(await done('audit', 'verify')).toContain('all is as it should be');
    for (const command of ['sync', 'export']) await done(command);
    const out = join(workspace.folder, 'report');
    await done('audit', 'report', '--format', 'json', '--out', out);
    const { state } = JSON.parse(readFileSync(out, 'utf8')) as { state: object[] };
    expect(state).toMatchObject([
      { event: 'differs', part },
      { event: 'mended', part },
    ]);
    await done('audit', 'report', '--format', 'html', '--out', out);
    expect(readFileSync(out, 'utf8')).toContain('What was not as the ledger says');
    const found = jsonOf(await run('where', '--uuid', uuid, '--json')) as { files?: object[] };
    expect(JSON.stringify(found)).not.toContain('canary');
    expect(found.files ?? []).toEqual([]);
  });
});

it('mirror and ledger that are both lost are refused, as long as anything shows that somebody was erased', async () => {
  const remove = (...names: string[]): void => {
    for (const name of names) rmSync(join(workspace.dataDir, name), { recursive: true, force: true });
  };
  remove('');
  copyFolder(erased(), workspace.dataDir);
  const mirror = ['mirror.db', 'mirror.db-wal', 'mirror.db-shm'];
  remove('ledger', ...mirror);
  const adding = ['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'T-2'];
  for (const command of [['sync'], ['export'], ['reconcile'], adding, ['audit', 'checkpoint'], ['erase', 'drill']])
    expect((await run(...command)).stderr).toMatch(/^error: the ledger is lost.*restore\.key/);
  expect((await run('doctor')).stdout).toMatch(/failed +ledger +the ledger is lost/);
  remove('restore.key', ...mirror);
  expect((await run('sync')).stderr).toContain('keys/ledger.key shows that it had some');
  remove('keys', ...mirror);
  expect((await run('sync')).stderr).toContain('a manifest in snapshots/ shows that it had some');
  remove('snapshots');
  expect(await run('sync')).toMatchObject({ code: 0 });
});
