import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, it, onTestFinished } from 'vitest';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { unpackFiles } from '../../src/cluster/archive.ts';
import { markedLines } from '../../src/cluster/marked-lines.ts';
import { openSealed } from '../../src/cluster/sealed-file.ts';
import { macCipher } from '../../src/core/secret-key.ts';
import { boxOf } from '../../src/erasure/request/box.ts';
import { hashOf } from '../../src/export/masks.ts';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { entriesPath, ledgerFolder } from '../../src/ledger/entry-file.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { noteTakenEntries } from '../../src/mirror/erasure-requests.ts';
import { consumerKey } from '../../src/mirror/fence-entries.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { copyFolder } from '../cli/copy-folder.ts';
import { clusterKey, hold, machineOf, openStoreWorld, remember } from '../cluster/store-world.ts';
import { openBoundWorld } from '../erasure/bound/bound-world.ts';
import { openErasureWorld, type Setting } from '../erasure/erasure-world.ts';
import { attackedCopy, attacksOn, isAccepted, writeAttacked } from '../ledger/attacks.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { guess } from './guess.ts';

// Who has one key, and what is named with it.

it('ledger.key, ledger/', async () => {
  const attacked = writeAttacked(mkdtempSync(join(tmpdir(), 'mirror-attacked-')));
  onTestFinished(() => rmSync(attacked.dataDir, { recursive: true, force: true }));
  const { publicKey, checkpoint } = attacked;
  const signed = attacksOn(attacked.dataDir).filter(
    ({ what, listed }) => what.endsWith('signed with the key') || listed === 'old key',
  );
  const passed: string[] = [];
  for (const attack of signed) {
    const copy = attackedCopy(attacked, attack);
    onTestFinished(() => rmSync(copy.dataDir, { recursive: true, force: true }));
    if (await isAccepted(copy, { publicKey })) passed.push(attack.what);
    // What is kept outside tells of each.
    expect([attack.what, await isAccepted(copy, { checkpoint })]).toEqual([attack.what, false]);
  }
  // Another past passes, and a certificate that no ledger can have does not.
  expect(passed).toEqual([
    'an entry changed, signed with the key',
    'dates set back by a year, signed with the key',
    'a whole request left out, signed with the key',
    'the past before a rotation written again with the old key, without the rotation',
  ]);
  expect(signed.length).toBeGreaterThan(passed.length + 5);
});

it('mirror.db, ledger/', async () => {
  const { world } = await openErased();
  const { dataDir, clock } = world;
  const { text: checkpoint } = openLedger(dataDir, clock).checkpoint();
  const path = entriesPath(ledgerFolder(dataDir));
  writeFileSync(path, readFileSync(path, 'utf8').replace(/"distinct_ids":\d+/, '"distinct_ids":77'));
  rmSync(join(dataDir, 'ledger/checkpoints'), { recursive: true });
  // The ledger alone is not taken.
  const changed = /the ledger was changed: its first \d+ entries/;
  await expect(world.reconcile()).rejects.toThrow(changed);
  await expect(world.request([{ kind: 'distinct_id', value: 'carl' }])).rejects.toThrow(changed);
  const problems = async (kept = {}): Promise<string[]> =>
    (await verifyDataFolder(dataDir, kept, new AbortController().signal)).problems;
  expect(existsSync(join(dataDir, 'ledger/checkpoints'))).toBe(false);
  // With what the mirror says of it, the program signs another past. Only a checkpoint from before tells.
  noteTakenEntries(world.db(), readLedger(dataDir));
  openLedger(dataDir, clock).checkpoint();
  await world.reconcile();
  expect((await problems()).filter((problem) => !problem.startsWith('certificate '))).toEqual([]);
  expect(await problems({ checkpoint })).toContainEqual(expect.stringMatching(/checkpoint/));
});

it("the cluster's key, the bucket", async () => {
  const world = await openStoreWorld();
  const one = machineOf(world, 'one');
  const a = await hold(one);
  remember(a, 'jane.doe@example.com');
  await a.state.commit(a.db);
  const { text: checkpoint } = a.ledger().checkpoint();
  await a.close();
  // All people of all projects are read.
  const folder = freshFolder();
  const [from, clear] = [join(folder, 'from'), join(folder, 'clear')];
  writeFileSync(from, (await world.everything(/state\/project/))[0]?.bytes ?? '');
  const seal = { key: clusterKey, about: `${world.place.location} project` };
  await openSealed({ from, clear }, seal, (content) => unpackFiles(content, folder));
  expect(readFileSync(join(folder, 'mirror.db')).includes('jane.doe')).toBe(true);
  // An append is made that a machine takes and signs.
  const before = readLedger(one.dataDir);
  const place = {
    location: world.place.location,
    seq: before.size(),
    rootBefore: Buffer.from(before.head().rootHash, 'hex'),
  };
  const at = new Date().toISOString();
  const line = canonicalJson({
    at,
    seq: place.seq,
    type: 'drill',
    outcome: 'passed',
    steps: 99,
    report: 'a'.repeat(64),
  });
  const lines = [...markedLines([Buffer.from(line)], clusterKey, place)];
  const Key = `cluster/one/ledger/${String(place.seq).padStart(12, '0')}.jsonl`;
  await world.client.send(new PutObjectCommand({ Bucket: 'state', Key, Body: `${lines.join('\n')}\n` }));
  const two = machineOf(world, 'two');
  await (await hold(two)).close();
  expect([...readLedger(two.dataDir).entries()].some((entry) => 'steps' in entry && entry.steps === 99)).toBe(true);
  // Nothing tells: not even a checkpoint from before.
  const { problems } = await verifyDataFolder(two.dataDir, { checkpoint }, two.signal);
  expect(problems.filter((problem) => !problem.startsWith('drill of'))).toEqual([]);
});

/** Anna was erased, Bert's request is open. */
async function openErased(more: Setting[] = []) {
  const { world, uuids } = await openBoundWorld(more);
  await world.syncAndPublish();
  await world.request([{ kind: 'uuid', value: uuids['anna-canary'] ?? '' }]);
  await world.reconcile();
  const [open] = await world.request([{ kind: 'uuid', value: uuids['bert-canary'] ?? '' }]);
  return { world, open: open?.id ?? '' };
}

const keyIn = (dataDir: string, name: string): Buffer =>
  Buffer.from(readFileSync(join(dataDir, name), 'utf8').trim(), 'hex');

/** What of a list of names the key of a consumer finds among the published entries of the fence. */
function guessEntries(key: string, entries: string, names: readonly string[]): string[] {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const entryOf = (name: string): string => sha256(key.slice(64) + sha256(`${key.slice(0, 64)}distinct_id:${name}`));
  return names.filter((name) => entries.includes(entryOf(name)));
}

const names = ['anna-canary', 'anna-canary-device', 'bert-canary', 'carl'];
const erased = ['anna-canary', 'anna-canary-device'];

it('fence.key, mirror.db', async () => {
  const { world } = await openErased();
  const macs = world.db().prepare<[], string>(`SELECT lower(hex(mac)) FROM fence`).pluck().all().join(' ');
  // A list says who was erased. Nobody else is found, and no key but this one finds anybody.
  expect(guess(keyIn(world.dataDir, 'keys/fence.key'), macs, names)).toEqual(erased);
  for (const other of ['keys/box.key', 'restore.key'])
    expect(guess(keyIn(world.dataDir, other), macs, names)).toEqual([]);
});

it('fence.key, restore.key, ledger/', async () => {
  const { world } = await openErased();
  const ledger = readFileSync(join(world.dataDir, 'ledger/entries.jsonl'), 'utf8');
  const fence = keyIn(world.dataDir, 'keys/fence.key');
  expect(guess(fence, ledger, names)).toEqual([]);
  const decrypt = macCipher(keyIn(world.dataDir, 'restore.key'), 'decrypt');
  const macs = [...ledger.matchAll(/[0-9a-f]{64}/g)].map(([mac]) => decrypt(mac)).join(' ');
  expect(guess(fence, macs, names)).toEqual(erased);
});

it("a consumer's key, snapshots/fence/", async () => {
  const fence = ['warehouse', 'other'].map((consumer) => ({ consumer }));
  const { world } = await openErased([
    { path: 'export.consumers', value: ['warehouse', 'other'] },
    { path: 'export.fence', value: fence },
  ]);
  await world.publish();
  const rows: { entry?: unknown; consumer?: unknown }[] = [];
  for (const part of listPublishedParts(publishedFilesIn(world.dataDir)))
    if (part.dataset === 'fence') rows.push(...(await readWithHyparquet(part.path)));
  const entriesOf = (consumer: string): string =>
    rows.flatMap((row) => (row.consumer === consumer ? [String(row.entry)] : [])).join(' ');
  const key = consumerKey(world.dataDir, 'warehouse');
  expect(guessEntries(key, entriesOf('warehouse'), names)).toEqual(erased);
  // Not those of another consumer, and nobody by a copy of the mirror.
  expect(guessEntries(key, entriesOf('other'), names)).toEqual([]);
  const macs = world.db().prepare<[], string>(`SELECT lower(hex(mac)) FROM fence`).pluck().all().join(' ');
  const tags = names.map((name) =>
    createHash('sha256')
      .update(`${key.slice(0, 64)}distinct_id:${name}`)
      .digest('hex'),
  );
  expect(tags.filter((tag) => macs.includes(tag))).toEqual([]);
});

it('box.key, mirror.db', async () => {
  const { world, open } = await openErased();
  const settings = { dataDir: world.dataDir };
  const boxed = { db: world.db(), settings };
  expect(JSON.stringify(boxOf(boxed, open))).toContain('bert-canary');
  // That of a sealed request is destroyed; without the key, an open one does not open.
  const sealed = [...readLedger(world.dataDir).entries()].flatMap((entry) =>
    entry.type === 'sealed' ? [entry.request] : [],
  );
  for (const id of sealed) expect(boxOf(boxed, id)).toBeUndefined();
  expect(() => boxOf({ db: world.db(), settings: { dataDir: freshFolder() } }, open)).toThrow(
    'the identifiers of request',
  );
  world.db().pragma('wal_checkpoint(TRUNCATE)');
  const old = freshFolder();
  copyFileSync(join(world.dataDir, 'mirror.db'), join(old, 'mirror.db'));
  await world.reconcileToTheEnd();
  expect(boxOf({ db: world.db(), settings }, open)).toBeUndefined();
  const db = openDatabaseReadOnly(old);
  expect(JSON.stringify(boxOf({ db, settings }, open))).toContain('bert-canary');
  db.close();
});

it('mask.key, snapshots/', async () => {
  const mask = [{ property: 'email', how: 'hash' }];
  const world = await openErasureWorld(5, [{ path: 'export.mask', value: mask }]);
  world.create(['anna'], { email: 'anna@x.example' });
  await world.syncAndPublish();
  const rows: unknown[] = [];
  for (const part of listPublishedParts(publishedFilesIn(world.dataDir)))
    if (part.dataset === 'persons') rows.push(...(await readWithHyparquet(part.path)));
  const text = JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  const hash = (key: Buffer): string => hashOf(key, 'email', 'anna@x.example');
  expect(text).not.toContain('anna@x.example');
  expect(text.includes(hash(keyIn(world.dataDir, 'keys/mask.key')))).toBe(true);
  expect(text.includes(hash(Buffer.alloc(32)))).toBe(false);
});

it('keys/, ledger/', async () => {
  const { world } = await openErased();
  const kept = freshFolder();
  for (const name of ['keys', 'ledger']) copyFolder(join(world.dataDir, name), join(kept, name));
  const all = readdirSync(kept, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
  for (const name of names) expect(all).not.toContain(name);
  expect(guess(keyIn(kept, 'keys/fence.key'), all, names)).toEqual([]);
});
