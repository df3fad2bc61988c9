import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { snapshotFolder } from './paths.ts';
import { removeUnnamedParts } from '../../src/snapshot/publish.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { runScript } from '../cli/run-cli.ts';
import { listAll } from '../export/export-fixture.ts';
import { anyOperation } from '../kill/kill-point.ts';
import { runUpTo } from '../kill/killed-run.ts';
import { assertRecovers, assertWhole } from './failing-rewrite.ts';
import { publishRows, rowsOfSnapshot } from './publish-rows.ts';
import { personRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const child = runScript(new URL('rewrite-child.ts', import.meta.url));

/** Runs a job up to an operation on the disk. Returns whether it was killed there. */
async function isKilled(
  dataDir: string,
  job: 'rewrite' | 'recover',
  snapshotId: string,
  nth: number,
): Promise<boolean> {
  const point = { operation: anyOperation.disk, nth, moment: 'before' } as const;
  return (await runUpTo(child, [job, snapshotId, dataDir], point)).isKilled;
}

test('killed before any change of the disk, and again while it recovers: old parts or new, whole', async () => {
  const published = temporaryFolder();
  const rows = ['a', 'b', 'c', 'd', 'e'].map((key) => personRow(key));
  const snapshotId = await publishRows(published, 'persons', rows, { partRows: 2 });
  const found = new Set<number>();
  let kills = 0;
  for (let step = 1; ; step += 1) {
    const dataDir = temporaryFolder();
    cpSync(published, dataDir, { recursive: true });
    const wasKilled = await isKilled(dataDir, 'rewrite', snapshotId, step);
    // The second kill comes at a later change each time that the first one does.
    if (await isKilled(dataDir, 'recover', snapshotId, 1 + (step % 4))) kills += 1;
    removeUnnamedParts(publishedFilesIn(dataDir));
    const { manifest, parts } = await rowsOfSnapshot(dataDir, 'persons', snapshotId);
    found.add(parts.flat().length);
    expect([3, 5]).toContain(parts.flat().length);
    expect(listAll(snapshotFolder(dataDir, 'persons', snapshotId))).toEqual(
      ['manifest.json', ...manifest.files.map(({ name }) => name)].toSorted(),
    );
    expect(listAll(join(dataDir, 'tmp'))).toEqual([]);
    expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
    if (!wasKilled) break;
    kills += 1;
  }
  expect(kills).toBeGreaterThan(20);
  expect(found).toEqual(new Set([3, 5]));
}, 120_000);

test(
  'dead from any step on, and again from any step of the recovery on: the next recovery clears it all',
  () => assertRecovers(1),
  480_000,
);

test(
  'one failed disk change at any step: readers find all of the old parts or of the new, and nothing else lies there',
  () => assertWhole(1),
  480_000,
);
