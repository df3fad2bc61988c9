import { exportDataset } from '../../src/export/export-dataset.ts';
import { distinctIdRows } from '../snapshot/rows.ts';
import { exportRequest } from './export-fixture.ts';
import { watchDiskChanges } from './fault-points.ts';

// Exports 30,000 rows, and is killed before the nth change of the disk, or when that many rows are written.
const [dataDir = '', killedAt, number] = process.argv.slice(2);
const kill = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

watchDiskChanges((step) => {
  if (killedAt === 'step' && step === Number(number)) kill();
});
await exportDataset(
  exportRequest(dataDir, {
    rows: distinctIdRows(30_000),
    settings: { partRows: 12_000, keep: 2, promote: [], mask: [] },
    onProgress: (rows) => {
      if (killedAt === 'rows' && rows >= Number(number)) kill();
    },
  }),
);
