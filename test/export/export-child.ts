import { namedPoints } from '../kill/named-point.ts';
import { distinctIdRows } from '../snapshot/rows.ts';
import { exportDataset, exportRequest } from './export-fixture.ts';

// Exports 30,000 rows into the folder that is its argument. A named point says how many rows were written.
const said = new Set<number>();

await exportDataset(
  exportRequest(process.argv.at(-1) ?? '', {
    rows: distinctIdRows(30_000),
    settings: { partRows: 12_000, keep: 2, promote: [], mask: [] },
    onProgress: (rows) => {
      for (const bound of [1, 10_000, 12_000, 20_000, 30_000])
        if (rows >= bound && !said.has(bound)) {
          said.add(bound);
          namedPoints.publish(`${bound} rows`);
        }
    },
  }),
);
