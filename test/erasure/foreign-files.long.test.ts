import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

async function worldWithRequest(): Promise<{
  world: ErasureWorld;
  write: (place: string, text: string | Buffer) => void;
}> {
  const world = await openErasureWorld(5);
  const uuid = world.create(['u1']);
  await world.syncAndPublish();
  await world.request([{ kind: 'uuid', value: uuid }]);
  const write = (place: string, text: string | Buffer): void => {
    mkdirSync(join(world.dataDir, place, '..'), { recursive: true });
    writeFileSync(join(world.dataDir, place), text);
  };
  return { world, write };
}

const statesOf = ({ db }: ErasureWorld): string[] => listRequests(db(), 'all').map(({ state }) => state);

it('a JSON lines file of another program below snapshots does not stop an erasure', async () => {
  const { world, write } = await worldWithRequest();
  write('snapshots/notes.jsonl', '{"a": 1}\nnot json at all\n{"b"');
  write('snapshots/persons/notes.json', '{"a": 1}\n{"b": 2}\n');
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1, residue: 0 } });
});

it('a file that cannot be searched stops it, and is named by its place in the data folder', async () => {
  const { world, write } = await worldWithRequest();
  write('snapshots/old.7z', Buffer.from('377abcaf271c0004', 'hex'));
  const named = 'snapshots/old.7z (packed as 7z: unpack it and scan again)';
  await expect(world.reconcile()).rejects.toThrow(`so nothing is proved: ${named}`);
  await expect(world.reconcile()).rejects.not.toThrow(world.dataDir);
  rmSync(join(world.dataDir, 'snapshots/old.7z'));
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1, residue: 0 } });
});

it('a copy of the mirror is residue, though it holds nothing that is long and hers alone but the uuid', async () => {
  const { world, write } = await worldWithRequest();
  write('tmp/copy.db', world.db().serialize());
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 0, residue: 1 } });
  expect(statesOf(world)).toEqual(['attention']);
  rmSync(join(world.dataDir, 'tmp', 'copy.db'));
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1, residue: 0 } });
});

it('what a killed drill has left is removed by the next run, and a table that was copied is read', async () => {
  const { world, write } = await worldWithRequest();
  write('tmp/drill-Xy12/snapshots/persons/metadata/1-list.avro', Buffer.from('4f626a0102', 'hex'));
  const folder = join(world.dataDir, 'snapshots/persons/metadata');
  for (const name of readdirSync(folder)) write(`tmp/copy/${name}`, readFileSync(join(folder, name)));
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1, residue: 0 } });
  expect(readdirSync(join(world.dataDir, 'tmp'))).toEqual(['copy']);
  write('tmp/other.avro', Buffer.from('4f626a0102', 'hex'));
  world.sandbox.act({ do: 'create', distinct_ids: ['u2'] });
  await world.sync();
  await world.request([{ kind: 'distinct_id', value: 'u2' }]);
  await expect(world.reconcile()).rejects.toThrow('tmp/other.avro (Avro, which this program cannot read');
});
