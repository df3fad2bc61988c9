import { join } from 'node:path';
import { z } from 'zod';
import type { App } from '../../app.ts';
import type { Service } from '../../client/service.ts';
import { isoTime } from '../../core/clock.ts';
import { queryMirror } from '../../mirror/query.ts';
import { publishedFilesIn } from '../../snapshot/published-files.ts';
import { gatherStatus } from '../../status/report.ts';
import type { CommandResult } from '../command.ts';
import { bytesText, countText } from '../../core/words.ts';
import { formatTable } from '../table.ts';
import type { DemoErasure } from './demo-erasure.ts';

/** What is where, the same counts from three sides, and queries to try, each with what it answers now. */
export async function describeDemo(app: App, erasure: DemoErasure): Promise<CommandResult> {
  const { queryParquet } = await import('../../snapshot/read-parquet.ts');
  const { dataDir } = app.settings;
  const db = app.databaseReadOnly();
  const { rows, passes, snapshots } = gatherStatus(db, dataDir, isoTime(app.clock.now()));
  const served = await countServed(app.service());
  const published = publishedFilesIn(dataDir);
  const snapshotId = published.readCurrent().snapshots['persons']?.snapshot_id ?? '';
  const parquet = published.localPath({ dataset: 'persons', snapshotId }, '*.parquet');
  const queries = [
    {
      on: 'SQLite',
      sql: "SELECT properties ->> 'plan' AS plan, count(*) AS persons FROM persons WHERE plan IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 4",
    },
    {
      on: 'SQLite',
      sql: 'SELECT p.name, count(*) AS recordings FROM recordings r JOIN persons p ON p.uuid = r.person_uuid GROUP BY p.uuid ORDER BY 2 DESC, 1 LIMIT 3',
    },
    {
      on: 'Parquet with DuckDB',
      sql: `SELECT year(created_at) AS year, count(*) AS persons FROM '${parquet}' GROUP BY 1 ORDER BY 2 DESC LIMIT 3`,
    },
  ] as const;
  const answers = [];
  for (const { on, sql } of queries) {
    const answer =
      on === 'SQLite' ? queryMirror(db, sql, 10) : tabular(await queryParquet(published.localFolder, sql));
    answers.push({ on, sql, columns: answer.columns, rows: answer.rows });
  }
  const counts = (['persons', 'recordings'] as const).map((dataset) => ({
    dataset,
    service: served[dataset],
    mirror: rows[dataset],
    parquet: snapshots.find((snapshot) => snapshot.dataset === dataset)?.rows ?? 0,
    verdict: passes.find((pass) => pass.dataset === dataset)?.verdict ?? 'none',
  }));
  const files = { mirror: join(dataDir, 'mirror.db'), snapshots: published.localFolder };
  return {
    json: { dataDir, files, counts, snapshots, erasure, queries: answers },
    text: `
${countTable(counts)}
${erasureTable(erasure)}
${formatTable(
  [{ heading: 'where' }, { heading: 'what' }],
  [
    [files.mirror, 'the mirror, one SQLite file'],
    ...snapshots.map(({ dataset, snapshotId, bytes }) => [
      join(files.snapshots, dataset, snapshotId),
      `${dataset} as Parquet, ${bytesText(bytes)}, with manifest.json`,
    ]),
    [join(files.snapshots, 'CURRENT.json'), 'names the current snapshot of each dataset'],
    [erasure.certificate, 'the certificate of the one request that is done (its events stay at the service)'],
    [erasure.report, "the auditor's report"],
    [
      join(dataDir, 'ledger', 'entries.jsonl'),
      'what was done about erased people, step by step, without naming them',
    ],
  ],
)}
Three queries to try, and what they answer now:

${answers
  .map(
    (answer) =>
      `${tryIt(answer.on, answer.sql, dataDir)}\n${indent(
        formatTable(
          answer.columns.map((heading) => ({ heading })),
          answer.rows.map((row) => row.map(String)),
        ),
      )}`,
  )
  .join('\n')}
The erased people:   npm run --silent mirror -- erase list --data-dir ${dataDir}
Check the proof:     npm run --silent mirror -- audit verify --data-dir ${dataDir}
Where things stand:  npm run --silent mirror -- status --data-dir ${dataDir}
Remove it all:       rm -r ${dataDir}
`,
  };
}

/** What erasing came to. */
function erasureTable(erasure: DemoErasure): string {
  return formatTable(
    [{ heading: 'erasing people' }, { heading: '', align: 'right' }],
    [
      ['people erased', countText(erasure.people)],
      ['rows taken out of the mirror and of files', countText(erasure.rowsRemoved)],
      ['published files rewritten, over all generations', countText(erasure.filesRewritten)],
      ['pieces of them that a scan found before', countText(erasure.foundBefore)],
      ['pieces of them that a scan finds now', countText(erasure.foundAfter)],
      ['came back at the service, and kept out', countText(erasure.keptOut)],
      ['a mirror.db from before, put back', erasure.olderCopy],
      ['ledger, certificate and files', erasure.isVerified ? 'verified' : 'NOT VERIFIED'],
    ],
  );
}

/** What the service itself says that it holds. */
async function countServed(service: Service): Promise<{ persons: number; recordings: number }> {
  const query = { limit: 1, offset: 0 };
  const Counted = z.object({ count: z.int() });
  const count = async (dataset: 'persons' | 'recordings'): Promise<number> =>
    Counted.parse((await service.call(`${dataset}.list`, { query })).body).count;
  return { persons: await count('persons'), recordings: await count('recordings') };
}

function countTable(
  counts: readonly { dataset: string; service: number; mirror: number; parquet: number; verdict: string }[],
): string {
  return formatTable(
    [
      { heading: 'rows in' },
      { heading: 'the service', align: 'right' },
      { heading: 'the mirror', align: 'right' },
      { heading: 'Parquet', align: 'right' },
      { heading: 'the pass is' },
    ],
    counts.map(({ dataset, service, mirror, parquet, verdict }) => [
      dataset,
      countText(service),
      countText(mirror),
      countText(parquet),
      verdict,
    ]),
  );
}

function tryIt(on: string, sql: string, dataDir: string): string {
  return on === 'SQLite'
    ? `  npm run --silent mirror -- query --data-dir ${dataDir} "${sql}"\n`
    : `  duckdb -c "${sql}"\n`;
}

function tabular(rows: readonly Readonly<Record<string, unknown>>[]): {
  columns: string[];
  rows: unknown[][];
} {
  return { columns: Object.keys(rows[0] ?? {}), rows: rows.map((row) => Object.values(row)) };
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ').trimEnd().concat('\n');
}
