import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import { listRuns } from '../../src/mirror/runs.ts';
import { snapshotFolder } from '../snapshot/paths.ts';
import { runCheckpointJob } from '../../src/worker/worker-project.ts';
import { exportDataset, exportRequest } from '../export/export-fixture.ts';
import { jobContext } from '../job/job-context.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

it('signs the ledger, and reads back what the data folder has published', async () => {
  const { db, dataDir } = openTestMirror();
  const { settings } = loadSettings({}, { set: [{ path: 'dataDir', value: dataDir }] });
  const run = () => runCheckpointJob(jobContext({ db, settings, clock: stillClock }, {}));
  const { snapshotId } = await exportDataset(exportRequest(dataDir, { erasureEpoch: 0 }));
  await run();

  const part = join(snapshotFolder(dataDir, 'distinct_ids', snapshotId), 'part-00001.parquet');
  const whole = readFileSync(part);
  const damaged = Buffer.from(whole);
  damaged.write('oops', 40);
  writeFileSync(part, damaged);
  await run();
  writeFileSync(part, whole);
  await run();

  expect(listRuns(db, 9).map(({ outcome, reason, counts }) => [outcome, reason, counts])).toEqual([
    ['done', null, '{"entries":0,"files":7,"problems":0}'],
    ['incomplete', 'files_damaged', '{"entries":0,"files":7,"problems":1}'],
    ['done', null, '{"entries":0,"files":7,"problems":0}'],
  ]);
});
