import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import { publishedDatasets, type PublishedDataset } from '../../src/contract/datasets.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { finishPass, startPass, type IncompleteReason } from '../../src/mirror/passes.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { runExportJob } from '../../src/worker/export-job.ts';
import { jobContext } from '../job/job-context.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

const at = '2026-01-01T00:00:00.000Z';

function openExport() {
  const { db, dataDir } = openTestMirror();
  const { settings } = loadSettings({}, { set: [{ path: 'dataDir', value: dataDir }] });
  return {
    pass: (
      dataset: 'persons' | 'recordings',
      reason: IncompleteReason | null,
      mode: 'full' | 'head' = 'full',
    ): void => {
      finishPass(db, startPass(db, { dataset, mode, plan: '{}', at }), reason, at);
    },
    run: async (datasets: readonly PublishedDataset[] = publishedDatasets, kind: 'full' | 'delta' = 'full') => {
      const source = openDatabaseReadOnly(dataDir);
      try {
        return await runExportJob(jobContext({ db, settings, clock: stillClock }, {}), { datasets, kind, source });
      } finally {
        source.close();
      }
    },
    published: () => Object.keys(publishedFilesIn(dataDir).readCurrent().snapshots).toSorted(),
  };
}

test.each(['full', 'delta'] as const)(
  'a %s export publishes no list that was never seen whole, and does the others',
  async (kind) => {
    const { pass, run, published } = openExport();
    expect(await run(undefined, kind)).toMatchObject({
      outcome: 'incomplete',
      snapshots: [],
      neverComplete: publishedDatasets,
    });
    pass('persons', 'seam_not_joined');
    pass('persons', null, 'head');
    pass('recordings', null);
    expect(await run(undefined, kind)).toMatchObject({
      outcome: 'incomplete',
      snapshots: [{ dataset: 'recordings' }],
      neverComplete: ['persons', 'distinct_ids', 'deletions'],
    });
    expect(published()).toEqual(['recordings']);
    expect(await run(['recordings'], kind)).toMatchObject({ outcome: 'done', neverComplete: [] });
  },
);

test('after a complete pass, an incomplete one is published with its verdict', async () => {
  const { pass, run } = openExport();
  pass('persons', null);
  pass('persons', 'seam_not_joined');
  expect(await run(['persons'])).toMatchObject({
    outcome: 'incomplete',
    snapshots: [{ dataset: 'persons', verdict: 'incomplete' }],
    neverComplete: [],
  });
});

test('an unchanged mirror is not published again; an incomplete pass since then is told all the same', async () => {
  const { pass, run } = openExport();
  pass('persons', null);
  const first = await run(['persons']);
  expect(first).toMatchObject({ outcome: 'done', snapshots: [{ unchangedSince: null }] });
  const again = { snapshotId: first.snapshots[0]?.snapshotId, unchangedSince: expect.any(String) as string };
  pass('persons', 'seam_not_joined');
  for (const kind of ['full', 'delta'] as const)
    expect(await run(['persons'], kind)).toMatchObject({
      outcome: 'incomplete',
      snapshots: [{ verdict: 'incomplete', ...again }],
    });
  pass('persons', null);
  expect(await run(['persons'])).toMatchObject({ outcome: 'done', snapshots: [{ verdict: 'complete', ...again }] });
});
