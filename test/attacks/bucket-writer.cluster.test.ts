import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DeleteObjectCommand, ListObjectVersionsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { openClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import type { Publisher } from '../../src/bucket/publisher.ts';
import {
  expectEqual,
  filesOf,
  folderWith,
  follow,
  freshModel,
  modelBucket,
  publishDistinct,
} from '../bucket/follow-world.ts';
import { openWorkspace } from '../cli/workspace.ts';
import { keepBucket } from '../cluster/keep-bucket.ts';
import { openMachines } from '../cluster/open-machines.ts';
import {
  hold,
  machineOf,
  openStoreWorld,
  remember,
  remembered,
  type Machine,
  type StoreWorld,
} from '../cluster/store-world.ts';

// Who can read, write, delete and roll back every object of the bucket, and has no key.

const drill = (steps: number) => ({ type: 'drill', outcome: 'passed', steps, report: 'a'.repeat(64) }) as const;

/** A project with an entry at each size, of which machine `one` has committed all but the last. `known`: what the database knows. */
async function openScene() {
  const world = await openStoreWorld();
  const cluster = { known: 0 };
  const machine = (name: string, place = world.place): Machine =>
    machineOf({ place }, name, {
      get ledgerSize() {
        return cluster.known;
      },
      noteLedgerSize: (size) => Promise.resolve(void (cluster.known = size)),
    });
  const one = machine('one');
  const a = await hold(one);
  remember(a, 'of yesterday');
  a.ledger().append([drill(1)]);
  a.ledger().append([drill(2)]);
  await a.state.commit(a.db);
  return { world, cluster, machine, one, a };
}

const put = (world: StoreWorld, key: string, Body: Buffer | string, publisher = 'one/x'): Promise<unknown> =>
  world.client.send(new PutObjectCommand({ Bucket: 'state', Key: `cluster/${key}`, Body, Metadata: { publisher } }));
const remove = async (world: StoreWorld, key: string): Promise<void> => {
  const { Versions = [] } = await world.client.send(
    new ListObjectVersionsCommand({ Bucket: 'state', Prefix: `cluster/${key}` }),
  );
  for (const { Key, VersionId } of Versions)
    await world.client.send(new DeleteObjectCommand({ Bucket: 'state', Key, VersionId }));
};
/** What `audit verify` says of the ledger, with and without a checkpoint that was kept. */
const problemsOf = async ({ dataDir, signal }: Machine, kept: { checkpoint?: string } = {}): Promise<string[]> =>
  (await verifyDataFolder(dataDir, kept, signal)).problems.filter((problem) => !problem.startsWith('drill of'));
const bytesOf = async (world: StoreWorld, key: string): Promise<Buffer> =>
  (await world.everything()).find((each) => each.key === `cluster/${key}` && each.isLatest)?.bytes ?? Buffer.alloc(0);
const append = (seq: number, project = 'one'): string => `${project}/ledger/${String(seq).padStart(12, '0')}.jsonl`;
const stepsOf = ({ dataDir }: Machine): number[] =>
  [...readLedger(dataDir).entries()].flatMap((entry) => ('steps' in entry ? entry.steps : []));

it('forges an append', async () => {
  const { world, machine, a } = await openScene();
  a.ledger().append([drill(3)]);
  await a.close();
  const [right, other] = [await bytesOf(world, append(3)), await bytesOf(world, append(1))];
  const forgeries = [
    right.toString().replace('"steps":3', '"steps":4'),
    `${JSON.stringify({ ...drill(9), at: '2026-11-26T12:00:00.000Z', seq: 3 })}\nmark ${'0'.repeat(64)}\n`,
    `${JSON.stringify({ ...drill(9), at: '2026-11-26T12:00:00.000Z', seq: 3 })}\n`,
    other,
    '',
    Buffer.alloc(80 << 20, 'x'),
  ];
  for (const forged of forgeries) {
    await put(world, append(3), forged);
    await expect(hold(machine('two'))).rejects.toMatchObject({ code: 'storage', finding: 'foreign_entries' });
  }
  // Behind the newest, too: a holder that appends there does not take it for its own.
  await put(world, append(3), right);
  await put(world, append(4), other);
  await expect(hold(machine('two'))).rejects.toMatchObject({ finding: 'foreign_entries' });
  await remove(world, append(4));
  const two = machine('two');
  await hold(two);
  expect(stepsOf(two)).toEqual([1, 2, 3]);
});

it('removes new appends', async () => {
  const { world, machine, a, one } = await openScene();
  a.ledger().append([drill(3)]);
  a.ledger().append([drill(4)]);
  const { text: checkpoint } = a.ledger().checkpoint();
  await a.close();
  await remove(world, append(3));
  await expect(hold(machine('two'))).rejects.toMatchObject({
    message: expect.stringMatching(/entry 3 is not in the bucket, and later ones are/) as string,
  });
  await remove(world, append(4));
  const two = machine('two');
  await hold(two);
  // Nothing here tells. A checkpoint outside does, and the machine that made them, if it comes back.
  expect(stepsOf(two)).toEqual([1, 2]);
  expect(await problemsOf(two)).toEqual([]);
  expect(await problemsOf(two, { checkpoint })).not.toEqual([]);
  await expect(hold(one)).rejects.toMatchObject({
    message: expect.stringMatching(/knows less of the project than the copy of this machine/) as string,
  });
});

it('puts back the state alone', async () => {
  const { world, cluster, machine, a } = await openScene();
  const older = await bytesOf(world, 'one/state/project');
  remember(a, 'of today');
  a.ledger().append([drill(3)]);
  await a.state.commit(a.db);
  await a.close();
  await put(world, 'one/state/project', older);
  await expect(hold(machine('other'))).rejects.toMatchObject({ code: 'storage' });
  cluster.known = 0;
  const two = machine('two');
  const held = await hold(two);
  // The mirror is that of yesterday; what the ledger says since is all there.
  expect(remembered(held)).toEqual(['of yesterday']);
  expect(stepsOf(two)).toEqual([1, 2, 3]);
  await assertErasedAgain();
});

/** An erased person whom the older state has: with an older database, jobs wait until the erasure is done again. */
async function assertErasedAgain(): Promise<void> {
  const world = await openStoreWorld();
  await using workspace = await openWorkspace({ persons: 20, recordings: 2, hostile: false });
  const { on, address } = await openMachines(workspace, world);
  const [person] = workspace.sandbox.living();
  const uuid = person?.uuid ?? '';
  const count = (machine: string): Promise<unknown> =>
    on(machine, ['query', `SELECT count(*) FROM persons WHERE uuid = '${uuid}'`]).then(({ json }) => json);
  await on('one', ['sync']);
  const older = (await world.everything(/state\/project$/)).find(({ isLatest }) => isLatest);
  const flags = ['--basis', 'objection', '--by', 'the-test', '--keep-events'];
  await on('one', ['erase', 'add', '--uuid', uuid, ...flags]);
  await on('one', ['reconcile']);
  expect(await count('one')).toMatchObject({ rows: [[0]] });
  await put(world, older?.key.replace('cluster/', '') ?? '', older?.bytes ?? '');
  const refused = await on('two', ['query', 'SELECT 1'], 1);
  expect(refused.ended.stderr).toContain('the bucket is older than what the database of the cluster knows');
  await using database = { ...openClusterDatabase(address), [Symbol.asyncDispose]: () => database.close() };
  await database.query('UPDATE analytics_mirror.projects SET ledger_size = 0', []);
  expect(await count('two')).toMatchObject({ rows: [[1]] });
  const { ended } = await on('three', ['sync'], 1);
  expect(ended.stderr).toContain('mirror.db is an older copy');
  await on('three', ['reconcile']);
  expect(await count('two')).toMatchObject({ rows: [[0]] });
  await on('two', ['audit', 'verify']);
}

it('puts back the keys alone', async () => {
  const { world, machine, a } = await openScene();
  const older = await bytesOf(world, 'one/state/keys');
  a.ledger().rotateKey();
  a.ledger().checkpoint();
  await a.state.commit(a.db);
  await a.close();
  await put(world, 'one/state/keys', older);
  await expect(hold(machine('two'))).rejects.toMatchObject({
    code: 'storage',
    message: expect.stringMatching(/keys\/ledger\.key/) as string,
  });
  await remove(world, 'one/state/keys');
  const three = machine('three');
  const held = await hold(three);
  held.ledger().append([drill(3)]);
  held.ledger().checkpoint();
  expect(await problemsOf(three)).toEqual([]);
});

it('puts back all', async () => {
  const { world, cluster, machine, a } = await openScene();
  const putBack = await keepBucket(world);
  a.ledger().append([drill(3)]);
  await a.state.commit(a.db);
  const { text: checkpoint } = a.ledger().checkpoint();
  await a.close();
  await putBack();
  await expect(hold(machine('two'))).rejects.toMatchObject({
    message: expect.stringMatching(/the bucket is older than what the database/) as string,
  });
  // With the database of yesterday, nothing here tells; a checkpoint outside does.
  cluster.known = 0;
  const two = machine('two');
  await hold(two);
  expect(stepsOf(two)).toEqual([1, 2]);
  expect(await problemsOf(two)).toEqual([]);
  expect(await problemsOf(two, { checkpoint })).not.toEqual([]);
});

it('deletes all', async () => {
  const { world, machine, a, one } = await openScene();
  await remove(world, '');
  await expect(hold(machine('two'))).rejects.toMatchObject({
    message: expect.stringMatching(/the bucket is older than what the database/) as string,
  });
  // Who holds it has all, and puts it there again.
  await a.state.commit(a.db);
  await a.close();
  await (await hold({ ...one, holder: { machine: 'one', token: 2 } })).close();
  const three = machine('three');
  expect(remembered(await hold(three))).toEqual(['of yesterday']);
  expect(stepsOf(three)).toEqual([1, 2]);
});

it('copies objects of another project', async () => {
  const { world, machine, a } = await openScene();
  await a.close();
  const place = { ...world.place, location: 's3://state/cluster/other' };
  const other = machineOf({ place }, 'one');
  const b = await hold(other);
  b.ledger().append([drill(7)]);
  await b.state.commit(b.db);
  await b.close();
  for (const path of ['state/project', 'state/keys']) {
    const own = await bytesOf(world, `one/${path}`);
    await put(world, `one/${path}`, await bytesOf(world, `other/${path}`));
    await expect(hold(machine('two'))).rejects.toMatchObject({
      message: expect.stringMatching(/is damaged, or belongs to another project/) as string,
    });
    await put(world, `one/${path}`, own);
  }
  await put(world, append(3), await bytesOf(world, append(1, 'other')));
  await expect(hold(machine('two'))).rejects.toMatchObject({ finding: 'foreign_entries' });
});

it('speaks of copies', async () => {
  const { world, machine, a } = await openScene();
  await a.close();
  const held = await hold(machine('two'));
  const [left] = held.state.others;
  const before = held.ledger().size();
  for (const body of ['0'.repeat(64), 'x'.repeat(1 << 20)])
    for (const what of [`${left?.id}.one.over`, `${'f'.repeat(32)}.nobody.begun`])
      await put(world, `one/copies/${what}`, body);
  expect(await held.state.otherCopies(held.ledger())).toMatchObject([{ machine: 'one', isForgotten: false }]);
  expect(held.ledger().size()).toBe(before);
});

it('changes published files', async () => {
  const model = await freshModel();
  const dataDir = await folderWith('ann', 'bea', 'cid');
  const bucket = await modelBucket(model);
  await follow(dataDir, bucket);
  const yesterday = new Map(model.versions);
  await publishDistinct(dataDir, ['ann', 'bea']);
  await follow(dataDir, bucket);
  const today = new Map(model.versions);
  const changes: (() => unknown)[] = [
    ...[...filesOf(dataDir).keys()].flatMap((key) => [
      () => model.put(key, 'something else'),
      () => model.versions.delete(key),
    ]),
    () => (model.versions = new Map(yesterday)),
    () => model.put('mirror/distinct_ids/20200101T000000.000Z/part-00001.parquet', 'of nobody'),
    () => model.uploads.push({ key: 'mirror/CURRENT.json', id: 'begun' }),
  ];
  for (const change of changes) {
    model.versions = new Map(today);
    change();
    expect(await follow(dataDir, bucket)).toMatchObject({ locked: [] });
    expectEqual(model, dataDir);
  }
});

it('forges the pointer', async () => {
  const model = await freshModel();
  const dataDir = await folderWith('ann', 'bea');
  const bucket = await modelBucket(model);
  const heads: Publisher['heads'] = new Map([[3, 'root']]);
  await follow(dataDir, bucket, 'mirror/1', heads);
  const pointer = model.current().get('mirror/CURRENT.json') ?? '';
  const says = async (publisher: string, finding: string): Promise<void> => {
    model.put('mirror/CURRENT.json', pointer, publisher);
    await expect(follow(dataDir, bucket, 'mirror/1', heads)).rejects.toMatchObject({ code: 'refused', finding });
  };
  await says('mirror/2 3 root', 'bucket_of_another');
  await says('mirror/1 4 other', 'bucket_ahead');
  // Without one, the folder goes on.
  model.put('mirror/CURRENT.json', pointer);
  model.versions.delete('mirror/CURRENT.json');
  await follow(dataDir, bucket, 'mirror/1', heads);
  expectEqual(model, dataDir);
});

it('hides a version', async () => {
  const model = await freshModel();
  const dataDir = await folderWith('ann', 'bea');
  const bucket = await modelBucket(model);
  await follow(dataDir, bucket);
  const key = [...filesOf(dataDir).keys()].find((each) => each.endsWith('.parquet')) ?? '';
  const versions = model.versions.get(key) ?? [];
  const hidden = { id: 'hidden', bytes: Buffer.from('of a person'), publisher: undefined, until: 0, at: 0 };
  model.intercept = (_request, _response, { query }) => {
    // The list shows the newest only; who asks for the version gets it.
    model.versions.set(key, query.has('versions') ? versions : [hidden, ...versions]);
    return false;
  };
  // `absent` is then not true, and nothing tells: it is `observed`, and no more.
  expect(await follow(dataDir, bucket)).toMatchObject({ removed: 0, foreign: [] });
  expect(model.versions.get(key)).toHaveLength(versions.length + 1);
});

it('reads all', async () => {
  const { world, a } = await openScene();
  remember(a, 'jane.doe@example.com');
  await a.state.commit(a.db);
  for (const { key, bytes } of await world.everything()) {
    expect([key, bytes.includes('jane.doe'), bytes.includes('of yesterday')]).toEqual([key, false, false]);
    // Only the entries of the ledger are in clear: codes, times, digests.
    if (!key.includes('/ledger/')) expect([key, bytes.includes('drill')]).toEqual([key, false]);
  }
  expect(existsSync(join(a.db.name, '..', 'copy.json'))).toBe(true);
});
