import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { warehousePlace } from '../../src/load/address.ts';
import { runLoadJob } from '../../src/worker/load-job.ts';
import { settingsWith } from '../config/settings-with.ts';
import { exportDataset, exportRequest } from '../export/export-fixture.ts';
import { jobContext } from '../job/job-context.ts';
import { freshFolder, openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

it('loads no file of DuckDB in the data folder: no scan can read it, and each erasure would wait for its end', async () => {
  const { db, dataDir } = openTestMirror();
  await exportDataset(exportRequest(dataDir, { erasureEpoch: 0 }));
  const context = jobContext({ db, settings: settingsWith({ dataDir }), clock: stillClock }, {});
  const load = (into: string) => runLoadJob(context, warehousePlace(into, 'mirror', null), null);
  const inside = join(dataDir, 'warehouse.duckdb');
  await expect(load(inside)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('is in the data folder') as string,
  });
  expect(existsSync(inside)).toBe(false);
  expect(await load(join(freshFolder(), 'warehouse.duckdb'))).toMatchObject({ outcome: 'done' });
});
