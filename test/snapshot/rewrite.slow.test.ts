import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { parquetRows } from '../../src/snapshot/duckdb.ts';
import { snapshotFolder } from './paths.ts';
import { queryParquet } from '../../src/snapshot/read-parquet.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { publishRows } from './publish-rows.ts';
import { personRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

// DuckDB may use 512 MiB here and no disk: what has to be held at once would fail.
test('700 MB of rows of a megabyte each are rewritten as a stream', async () => {
  const dataDir = temporaryFolder();
  const rows = Array.from({ length: 600 }, (_, index) =>
    personRow(String(index + 1000), { id: index, properties: `"${String(index).repeat(400_000)}"` }),
  );
  const snapshotId = await publishRows(dataDir, 'persons', rows, { partRows: 1000 });
  const rewritten = await rewriteSnapshot(
    publishedFilesIn(dataDir),
    'persons',
    snapshotId,
    ['part-00001.parquet'],
    [{ ...nobody, person_id: ['17'], distinct_id: ['ann'] }],
    { epoch: 4, signal: new AbortController().signal },
  );
  expect(rewritten).toMatchObject([{ rowsRemoved: 1 }]);
  const path = `${snapshotFolder(dataDir, 'persons', snapshotId)}/${rewritten[0]?.newName}`;
  const left = `SELECT count(*) AS rows, count(*) FILTER (WHERE list_contains(distinct_ids, 'ann')) AS untrimmed
    FROM ${parquetRows([path])}`;
  expect(await queryParquet(dirname(path), left)).toEqual([{ rows: 599n, untrimmed: 0n }]);
}, 60_000);
