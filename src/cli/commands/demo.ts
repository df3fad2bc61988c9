import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { createApp, type App } from '../../app.ts';
import type { Service } from '../../client/service.ts';
import { AppError } from '../../core/errors.ts';
import { databasePath } from '../../mirror/database.ts';
import { queryMirror } from '../../mirror/query.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { readCurrent } from '../../snapshot/manifest.ts';
import { gatherStatus } from '../../status/report.ts';
import { printResult, withApp, type CommandResult } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { formatBytes, formatCount, formatDuration } from '../format.ts';
import { settingsFlags, type GlobalOptions } from '../global-options.ts';
import { formatTable } from '../table.ts';
import { exportNow } from './export.ts';
import { syncNow } from './sync.ts';

const persons = 20_000;
const recordings = 4000;

/** Adds `demo`: the whole story on the embedded sandbox, in a fresh folder. */
export function addDemoCommand(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .description('show the main job on the embedded sandbox, in a fresh folder')
    .addHelpText('after', '\nExamples:\n  npm run demo\n  analytics-mirror demo --data-dir ./demo --json')
    .action(async (_options: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GlobalOptions>();
      const dataDir = flags.dataDir ?? mkdtempSync(join(tmpdir(), 'analytics-mirror-demo-'));
      // People who do not exist must not get among people who do.
      if (existsSync(databasePath(dataDir)))
        throw new AppError(`the demo wants a fresh folder, and this one has a mirror: ${dataDir}`, {
          code: 'usage',
          hint: 'name another --data-dir, or none for a temporary folder',
        });
      const say = (line: string): void => void context.stderr.write(`${line}\n`);
      const since = stopwatch();
      const { startSandbox } = await import('../../sandbox/sandbox.ts');
      const sandbox = await startSandbox({ persons, recordings, seed: 1, port: 0 });
      say(
        `served   ${formatCount(persons)} persons and ${formatCount(recordings)} recordings at ${sandbox.url} (${since()})`,
      );
      try {
        const app = createApp(
          demoSurroundings(context, sandbox),
          settingsFlags({ ...flags, dataDir, set: [...demoSettings(sandbox), ...(flags.set ?? [])] }),
        );
        await withApp(app, async () => {
          const { passes } = await syncNow(app, context, {
            datasets: ['persons', 'recordings', 'playlists'],
            mode: 'full',
            resume: true,
          });
          say(
            `synced   ${passes.map(({ dataset, verdict }) => `${dataset} ${verdict}`).join(', ')} (${since()})`,
          );
          const { snapshots } = await exportNow(app, context, ['persons', 'recordings', 'distinct_ids']);
          say(
            `exported ${snapshots.map(({ dataset, rows }) => `${formatCount(rows)} ${dataset}`).join(', ')} (${since()})`,
          );
          printResult(context, command, await describe(app));
        });
      } finally {
        await sandbox.close();
      }
    });
}

function demoSurroundings(
  context: CommandContext,
  { url, projectId, apiKey }: Sandbox,
): Parameters<typeof createApp>[0] {
  return {
    isTerminal: context.isTerminal,
    environment: { MIRROR_BASE_URL: url, MIRROR_PROJECT_ID: projectId, MIRROR_API_KEY: apiKey },
  };
}

function demoSettings({ playlists }: Sandbox): { path: string; value: unknown }[] {
  return [
    { path: 'playlists.shortIds', value: playlists },
    { path: 'log.level', value: 'warn' },
  ];
}

/** What is where, the same counts from three sides, and queries to try, each with what it answers now. */
async function describe(app: App): Promise<CommandResult> {
  const { queryParquet } = await import('../../snapshot/read-parquet.ts');
  const { dataDir } = app.settings;
  const db = app.databaseReadOnly();
  const { rows, passes, snapshots } = gatherStatus(db, dataDir);
  const served = await countServed(app.service());
  const current = readCurrent(dataDir).snapshots;
  const parquet = join(dataDir, 'snapshots', 'persons', current['persons']?.snapshot_id ?? '', '*.parquet');
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
      on === 'SQLite'
        ? queryMirror(db, sql, 10)
        : tabular(await queryParquet(join(dataDir, 'snapshots'), sql));
    answers.push({ on, sql, columns: answer.columns, rows: answer.rows });
  }
  const counts = (['persons', 'recordings'] as const).map((dataset) => ({
    dataset,
    service: served[dataset],
    mirror: rows[dataset],
    parquet: snapshots.find((snapshot) => snapshot.dataset === dataset)?.rows ?? 0,
    verdict: passes.find((pass) => pass.dataset === dataset)?.verdict ?? 'none',
  }));
  const files = { mirror: join(dataDir, 'mirror.db'), snapshots: join(dataDir, 'snapshots') };
  return {
    json: { dataDir, files, counts, snapshots, queries: answers },
    text: `
${countTable(counts)}
${formatTable(
  [{ heading: 'where' }, { heading: 'what' }],
  [
    [files.mirror, 'the mirror, one SQLite file'],
    ...snapshots.map(({ dataset, snapshotId, bytes }) => [
      join(files.snapshots, dataset, snapshotId),
      `${dataset} as Parquet, ${formatBytes(bytes)}, with manifest.json`,
    ]),
    [join(files.snapshots, 'CURRENT.json'), 'names the current snapshot of each dataset'],
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
Where things stand:  npm run --silent mirror -- status --data-dir ${dataDir}
Remove it all:       rm -r ${dataDir}
`,
  };
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
      formatCount(service),
      formatCount(mirror),
      formatCount(parquet),
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

function stopwatch(): () => string {
  let last = performance.now();
  return () => {
    const now = performance.now();
    const text = formatDuration(now - last);
    last = now;
    return text;
  };
}
