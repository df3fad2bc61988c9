import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { boxOf } from '../../src/erasure/request/box.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { copyFolder } from '../cli/copy-folder.ts';
import { hold, machineOf, openStoreWorld, remember, type Held, type Machine } from '../cluster/store-world.ts';
import { openBoundWorld } from '../erasure/bound/bound-world.ts';
import type { ErasureWorld } from '../erasure/erasure-world.ts';
import { findTexts } from '../erasure/find-texts.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { guess } from './guess.ts';

// Who has a copy of all files of a machine, and nothing else.

/** All that only Anna has. */
const texts = ['anna-canary', 'anna-canary-device', 'anna-canary@x.example'];

/** The disk as it is now, copied while the program runs. */
function steal({ dataDir, db }: ErasureWorld): string {
  db().pragma('wal_checkpoint(TRUNCATE)');
  const disk = join(freshFolder(), 'disk');
  copyFolder(dataDir, disk);
  return disk;
}

const foundOn = async (disk: string, searched: readonly string[]): Promise<string[]> =>
  [...(await findTexts(disk, searched))].flatMap(([text, places]) => (places.length > 0 ? [text] : []));

/** What of a list the fence of a disk confirms, with the key that lies there. */
function guessed(disk: string, list: readonly string[]): string[] {
  const key = readFileSync(join(disk, 'keys/fence.key'), 'utf8').trim();
  const db = openDatabaseReadOnly(disk);
  const macs = db.prepare<[], string>(`SELECT lower(hex(mac)) FROM fence`).pluck().all().join(' ');
  db.close();
  return guess(Buffer.from(key, 'hex'), macs, list);
}

it('a disk of before an erasure', async () => {
  const { world } = await openBoundWorld();
  await world.syncAndPublish();
  expect(await foundOn(steal(world), texts)).toEqual(texts);
});

it('a disk with an open request', async () => {
  const { world, uuids } = await openBoundWorld();
  await world.syncAndPublish();
  const [request] = await world.request([{ kind: 'uuid', value: uuids['anna-canary'] ?? '' }]);
  await world.reconcile();
  const disk = steal(world);
  // Waiting for the service, nothing of her is in clear; what encrypts it lies on the same disk.
  expect(await foundOn(disk, texts)).toEqual([]);
  const db = openDatabaseReadOnly(disk);
  const open = (): unknown => boxOf({ db, settings: { dataDir: disk } }, request?.id ?? '');
  expect(JSON.stringify(open())).toContain('anna-canary');
  rmSync(join(disk, 'keys'), { recursive: true });
  expect(open).toThrow('the identifiers of request');
  db.close();
});

it('a disk of after an erasure', async () => {
  const { world, uuids } = await openBoundWorld();
  await world.syncAndPublish();
  const [request] = await world.request([{ kind: 'uuid', value: uuids['anna-canary'] ?? '' }]);
  await world.reconcileToTheEnd();
  expect(world.onlyRequest().state).toBe('sealed');
  const disk = steal(world);
  expect(await foundOn(disk, [...texts, 'bert-canary'])).toEqual(['bert-canary']);
  const db = openDatabaseReadOnly(disk);
  expect(boxOf({ db, settings: { dataDir: disk } }, request?.id ?? '')).toBeUndefined();
  db.close();
  // A list says who was erased, as the key of the fence lies there.
  expect(guessed(disk, [...texts, 'bert-canary', 'carl'])).toEqual(['anna-canary', 'anna-canary-device']);
  // The feed of deletions has her uuid, for the lakes that have to forget her.
  expect(await foundOn(disk, [uuids['anna-canary'] ?? ''])).toHaveLength(1);
});

/** A machine that holds a project with a person, whose worker has ended. */
async function endedHolder(): Promise<{ one: Machine; a: Held }> {
  const one = machineOf(await openStoreWorld(), 'one');
  const a = await hold(one);
  remember(a, 'jane.doe@example.com');
  await a.state.commit(a.db);
  await a.close();
  return { one, a };
}

it('a disk of a holder', async () => {
  const { one } = await endedHolder();
  expect(bytesBelow(one.dataDir).includes('jane.doe')).toBe(true);
  // The key of the cluster is not among it: no other project opens.
  expect(bytesBelow(one.dataDir).includes(one.key.toString('hex'))).toBe(false);
  expect(bytesBelow(one.dataDir).includes(one.key)).toBe(false);
});

it('a disk of a former holder', async () => {
  const { one, a } = await endedHolder();
  await a.state.discard();
  expect(existsSync(join(one.dataDir, 'mirror.db'))).toBe(false);
  expect(bytesBelow(one.dataDir).toString()).toBe('');
});

function bytesBelow(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Buffer.concat(files.map((entry) => readFileSync(join(entry.parentPath, entry.name))));
}
