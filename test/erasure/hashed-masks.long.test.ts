import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { findTexts } from './find-texts.ts';

/** The hashes of a property in the published persons, by person. */
async function hashesOf({ dataDir }: ErasureWorld, property: string): Promise<Map<string, string>> {
  const parts = listPublishedParts(publishedFilesIn(dataDir)).filter(({ dataset }) => dataset === 'persons');
  const rows = (await Promise.all(parts.map(({ path }) => readWithHyparquet(path)))).flat();
  return new Map(
    rows.map((row) => {
      const shown = JSON.parse((row['properties'] as string | null) ?? '{}') as Record<string, unknown>;
      return [String(row['person_uuid']), String(shown[property])];
    }),
  );
}

it('the hashes of an erased person are searched for like the person’s texts, and those of another person stay', async () => {
  const mask = ['email', 'company'].map((property) => ({ property, how: 'hash' }));
  const world = await openErasureWorld(5, [{ path: 'export.mask', value: mask }]);
  const { dataDir } = world;
  const create = (id: string, email: string): string =>
    world.create([id], { email, company: 'the same company of both' });
  const [uuid, other] = [create('hashed-1', 'hashed-canary@example.com'), create('hashed-2', 'another@example.com')];
  await world.syncAndPublish();
  const emails = await hashesOf(world, 'email');
  const companies = await hashesOf(world, 'company');
  const hash = emails.get(uuid) ?? '';
  expect(hash).toMatch(/^h1:/);
  expect(companies.get(other)).toBe(companies.get(uuid));
  const texts = await findTexts(dataDir, ['hashed-canary@example.com']);
  expect([...texts.values()].flat().filter((place) => place.includes('snapshots/'))).toEqual([]);
  // A consumer's extract that somebody left here.
  const stray = join(dataDir, 'tmp', 'extract.csv');
  writeFileSync(stray, `pseudonym,plan\n${hash},pro\n`);
  await world.request([{ kind: 'uuid', value: uuid }]);
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 0, residue: 1 } });
  rmSync(stray);
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1, residue: 0 } });
  expect((await findTexts(dataDir, [hash])).get(hash)).toEqual([]);
  expect((await hashesOf(world, 'company')).get(other)).toBe(companies.get(other));
});
