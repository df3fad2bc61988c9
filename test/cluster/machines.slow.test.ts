import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { openMachines } from './open-machines.ts';
import { killable } from './fault-world.ts';
import { openStoreWorld } from './store-world.ts';

const beforeTheState = { operation: 'send HEAD /state/cluster/PROJECT/state/project', nth: 1, moment: 'before' };

it('a person is erased by several machines in turn: the ledger, the certificate and the bucket say so', async () => {
  const world = await openStoreWorld();
  await using workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  const { on, folderOf } = await openMachines(workspace, world);
  await on('one', ['sync']);
  // What a command has fetched goes with it.
  expect(readdirSync(folderOf('one'))).toEqual(['copy.lock']);
  await on('two', ['export']);
  const people = await on('three', ['query', 'SELECT uuid, name FROM persons WHERE length(name) > 5 LIMIT 1']);
  const [[uuid, name]] = z.object({ rows: z.tuple([z.tuple([z.string(), z.string()])]) }).parse(people.json).rows;
  await on('one', ['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'the-test', '--keep-events']);
  const list = await on('two', ['erase', 'list']);
  const [{ id }] = z.object({ requests: z.tuple([z.object({ id: z.string() })]) }).parse(list.json).requests;
  await on('two', ['reconcile']);
  await on('three', ['reconcile']);
  const certificate = await on('one', ['audit', 'certificate', id]);
  expect(JSON.stringify(certificate.json)).toMatch(
    /"machines":\["one","two"\][^{}]*"target":"copies"|"target":"copies"[^{}]*"machines":\["one","two"\]/,
  );
  await on('four', ['audit', 'verify']);
  const { json: found } = await on('four', ['query', `SELECT count(*) FROM persons WHERE uuid = '${uuid}'`]);
  expect(found).toMatchObject({ rows: [[0]] });
  const everything = await world.everything();
  expect(everything.filter(({ key }) => key.includes('/state/'))).toHaveLength(2);
  for (const { key, bytes } of everything) {
    expect([key, bytes.includes(uuid), bytes.includes(name)]).toEqual([key, false, false]);
  }
  expect(existsSync(join(folderOf('one'), 'mirror.db'))).toBe(false);
}, 600_000);

it('a folder moves into the cluster and back, with ledger, certificate and fence', async () => {
  const world = await openStoreWorld();
  await using workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  const { on, startOn, folderOf } = await openMachines(workspace, world);
  const alone = async (args: readonly string[], dataDir = workspace.dataDir, code = 0): Promise<unknown> => {
    const set = ['--set', 'deletions.confirmAfterSeconds=0'];
    const env = { MIRROR_DATA_DIR: dataDir };
    const ended = await workspace.run([...args, '--json', ...unlimited, ...set], { env, timeoutMs: 300_000 });
    expect(ended.code, `${args.join(' ')}: ${ended.stdout.slice(-1500)}${ended.stderr.slice(-1500)}`).toBe(code);
    return JSON.parse(ended.stdout);
  };
  await alone(['sync']);
  await alone(['export']);
  const people = await alone(['query', 'SELECT uuid FROM persons LIMIT 1']);
  const [[uuid]] = z.object({ rows: z.tuple([z.tuple([z.string()])]) }).parse(people).rows;
  await alone(['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'the-test', '--keep-events']);
  await alone(['reconcile']);
  await alone(['reconcile']);
  const move = ['cluster', 'import', '--from', workspace.dataDir];
  const killed = startOn('two', move, { NODE_OPTIONS: killable, KILL_POINT: JSON.stringify(beforeTheState) });
  expect(await killed.ended).toMatchObject({ code: null, stderr: expect.stringMatching(/^killed before/m) as string });
  // The bucket has the ledger by now, and nobody takes it for a project without persons.
  const half = await on('three', ['sync', '--wait'], 2);
  expect(half.ended.stderr).toMatch(/was interrupted/);
  await on('one', [...move, '--wait']);
  await on('two', ['cluster', 'import', '--from', workspace.dataDir], 2);
  await on('two', ['audit', 'verify']);
  await on('two', ['sync']);
  const back = join(folderOf('back'), 'data');
  await on('one', ['cluster', 'export', '--to', back]);
  await on('one', ['cluster', 'export', '--to', back], 2);
  await alone(['audit', 'verify'], back);
  await alone(['sync'], back);
  expect(await alone(['query', `SELECT count(*) FROM persons WHERE uuid = '${uuid}'`], back)).toMatchObject({
    rows: [[0]],
  });
  const ledger = (dataDir: string): Promise<unknown> => alone(['erase', 'list', '--all'], dataDir);
  expect(await ledger(back)).toMatchObject({
    requests: [{ state: expect.stringMatching(/certified|sealed/) as string }],
  });
}, 900_000);

it('a machine dies after the fence, before a commit: the next one erases all the same, and waits for the copy', async () => {
  const world = await openStoreWorld();
  await using workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  const { on, startOn, folderOf } = await openMachines(workspace, world);
  await on('one', ['sync']);
  const people = await on('one', ['query', 'SELECT uuid FROM persons LIMIT 1']);
  const [[uuid]] = z.object({ rows: z.tuple([z.tuple([z.string()])]) }).parse(people.json).rows;
  await on('one', ['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'the-test', '--keep-events']);
  const dying = startOn('one', ['reconcile']);
  // Something may go between the list and the look.
  const isFenced = (): Promise<boolean> =>
    world.everything().then(
      (all) => all.some(({ key, bytes }) => key.includes('/ledger/') && bytes.includes('"type":"fenced"')),
      () => false,
    );
  while (!(await isFenced())) expect(dying.child.exitCode).toBe(null);
  dying.child.kill('SIGKILL');
  await dying.ended;
  // Its copy lies there, with a mirror in which the person may be; the state in the bucket has the person still.
  expect(existsSync(join(folderOf('one'), 'mirror.db'))).toBe(true);
  await vi.waitFor(() => on('two', ['sync'], 1), { timeout: 120_000, interval: 5_000 });
  await on('two', ['reconcile'], 4);
  const list = await on('two', ['erase', 'list', '--all']);
  expect(JSON.stringify(list.json)).toContain('copy_elsewhere');
  // It comes back: its copy goes.
  await on('one', ['sync']);
  expect(readdirSync(folderOf('one'))).toEqual(['copy.lock']);
  await on('two', ['reconcile']);
  const ended = await on('two', ['erase', 'list', '--all']);
  expect(JSON.stringify(ended.json)).toMatch(/"state":"(?:certified|sealed)"/);
  await on('two', ['audit', 'verify']);
  for (const { key, bytes } of await world.everything()) expect([key, bytes.includes(uuid)]).toEqual([key, false]);
}, 900_000);
