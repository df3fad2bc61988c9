import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { removeUnnamedParts } from '../../src/snapshot/publish.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { listAll } from '../export/export-fixture.ts';
import { assertRecovers, assertWhole, copyOfPublished, snapshotId } from './failing-rewrite.ts';
import { snapshotFolder } from './paths.ts';

// `rewrite.crash.slow.test.ts` takes every step.
test('one failed disk change: readers find all of the old parts or of the new, and nothing else lies there', () =>
  assertWhole(3));

test(
  'dead from some step on, and again from some step of the recovery on: the next recovery clears it all',
  () => assertRecovers(4),
  120_000,
);

test('recovery removes parts without a name, drafts, and what was never published, and nothing else', () => {
  const dataDir = copyOfPublished();
  const folder = snapshotFolder(dataDir, 'persons', snapshotId);
  const before = listAll(dataDir);
  const parts = listPublishedParts(publishedFilesIn(dataDir));
  const never = '20261120T125501.000Z';
  mkdirSync(snapshotFolder(dataDir, 'persons', never));
  writeFileSync(join(snapshotFolder(dataDir, 'persons', never), 'part-00001.parquet'), 'x');
  writeFileSync(join(folder, 'part-00009.parquet'), 'x');
  writeFileSync(join(folder, 'manifest.json.draft-aa85c9c4-37a1-47a0-9a86-1fb7fbe4606c'), 'x');
  mkdirSync(join(dataDir, 'tmp', `snapshot-recordings-${never}`));
  removeUnnamedParts(publishedFilesIn(dataDir));
  expect(listAll(dataDir)).toEqual(before);
  expect(listPublishedParts(publishedFilesIn(dataDir))).toEqual(parts);
  removeUnnamedParts(publishedFilesIn(dataDir));
  expect(listAll(dataDir)).toEqual(before);
});

test('recovery deletes nothing where a manifest is damaged', () => {
  const dataDir = copyOfPublished();
  const folder = snapshotFolder(dataDir, 'persons', snapshotId);
  writeFileSync(join(folder, 'part-00009.parquet'), 'x');
  writeFileSync(join(folder, 'manifest.json'), '{');
  const before = listAll(dataDir);
  expect(() => removeUnnamedParts(publishedFilesIn(dataDir))).toThrow(
    expect.objectContaining({ code: 'storage' }) as Error,
  );
  expect(listAll(dataDir)).toEqual(before);
});
