import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { identifierKinds, type Identifier } from '../../../src/contract/identity.ts';
import { differencesOf, placesOf, problemsOf, worldAfterErasure } from '../bound/bound-world.ts';
import { fenceMacUnder, hexOf } from '../../../src/mirror/fence-mac.ts';
import type { ErasureWorld } from '../erasure-world.ts';
import { reuseDuckDb } from '../../snapshot/one-duckdb.ts';

reuseDuckDb();

/** What counting ids and trying known names finds in a text, by the key of the fence. */
function guess({ dataDir }: ErasureWorld, text: string, names: readonly string[]): Identifier[] {
  const key = Buffer.from(readFileSync(join(dataDir, 'keys/fence.key'), 'utf8').trim(), 'hex');
  const { tagOf, macOf } = fenceMacUnder(() => key);
  const ids = Array.from({ length: 2000 }, (_, id) => String(id));
  return identifierKinds.flatMap((kind) =>
    [...names, ...ids].flatMap((value) => {
      const tag = hexOf(tagOf(kind, value) ?? '');
      return text.includes(tag) || text.includes(macOf(tag)) ? [{ kind, value }] : [];
    }),
  );
}

const ledgerText = ({ dataDir }: ErasureWorld): string => readFileSync(join(dataDir, 'ledger/entries.jsonl'), 'utf8');
const fenceOf = ({ db }: ErasureWorld): unknown[] => db().prepare(`SELECT kind, hex(mac), request_id FROM fence`).all();

it('the key of the fence and the ledger together name no erased person, neither by counting nor by a list', async () => {
  const { world, uuids } = await worldAfterErasure();
  const names = [uuids['anna-canary'] ?? '', 'anna-canary', 'anna-canary-device'];
  // The guesses are right: the mirror has these MACs, and fences nobody but Anna.
  const macs = world.db().prepare<[], string>(`SELECT lower(hex(mac)) FROM fence`).pluck().all();
  expect(guess(world, macs.join(' '), names)).toEqual(
    expect.arrayContaining([
      { kind: 'person_id', value: expect.any(String) },
      { kind: 'distinct_id', value: 'anna-canary' },
    ]),
  );
  expect(ledgerText(world)).toContain('"type":"fencing"');
  expect(guess(world, ledgerText(world), names)).toEqual([]);
  const key = readFileSync(join(world.dataDir, 'restore.key'), 'utf8').trim();
  expect(JSON.stringify(world.db().prepare(`SELECT hex(encrypted) FROM restore_key`).all())).not.toMatch(
    new RegExp(key, 'i'),
  );
});

it('an older mirror gets its fences from the ledger, with a restore key that only one of two places has', async () => {
  const { world, putBack } = await worldAfterErasure();
  const fence = fenceOf(world);
  // The copy is from before the key was made: the key is in its file only.
  putBack(['database']);
  expect(fenceOf(world)).toEqual([]);
  await expect(world.sync()).rejects.toThrow('mirror.db is an older copy');
  await world.reconcile();
  expect(fenceOf(world)).toEqual(fence);
  expect(await placesOf(world, 'anna-canary')).toEqual([]);
  // And then in the mirror only.
  const path = join(world.dataDir, 'restore.key');
  const key = readFileSync(path, 'utf8');
  rmSync(path);
  expect(await differencesOf(world)).toEqual(['restore.key is missing']);
  world.restart();
  expect(readFileSync(path, 'utf8')).toBe(key);
  world.db().exec(`DELETE FROM fence`);
  await world.reconcile();
  expect(fenceOf(world)).toEqual(fence);
  expect(await problemsOf(world)).toEqual([]);
});

it('a mirror that is lost altogether gets its fences from the ledger', async () => {
  const { world } = await worldAfterErasure();
  const fence = fenceOf(world);
  world.db().close();
  for (const name of ['mirror.db', 'mirror.db-wal', 'mirror.db-shm'])
    rmSync(join(world.dataDir, name), { force: true });
  world.reopen();
  await expect(world.sync()).rejects.toThrow('mirror.db is an older copy');
  await world.reconcile();
  expect(fenceOf(world)).toEqual(fence);
  await world.sync();
  expect(await placesOf(world, 'anna-canary')).toEqual([]);
});

it('without the restore key in either place nothing is mirrored, and no other key is made in its place', async () => {
  const { world } = await worldAfterErasure();
  const path = join(world.dataDir, 'restore.key');
  const key = readFileSync(path, 'utf8');
  rmSync(path);
  world.db().exec(`DELETE FROM restore_key`);
  for (const act of [world.sync, world.publish, world.reconcile])
    await expect(act()).rejects.toThrow('restore.key is missing');
  expect(existsSync(path)).toBe(false);
  writeFileSync(path, `${'7'.repeat(64)}\n`, { mode: 0o600 });
  await expect(world.reconcile()).rejects.toThrow('restore.key is another key than the one of this ledger');
  writeFileSync(path, key, { mode: 0o600 });
  await world.reconcile();
  expect(await differencesOf(world)).toEqual([]);
});
