import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createApp, createProjectApps } from '../../app/app.ts';
import { AppError, systemCode, usageError } from '../../core/errors.ts';
import { bytesText, countedText, shellWord } from '../../core/words.ts';
import { databasePath } from '../../mirror/database.ts';
import type { DemoErasure } from '../../rehearsal/demo-erasure.ts';
import type { DemoReport } from '../../rehearsal/demo-report.ts';
import { demoSettings, runDemo, serveDemo } from '../../rehearsal/demo.ts';
import { besideSandbox, clockOf } from '../../rehearsal/embedded-sandbox.ts';
import { printResult, withApp, type CommandAction, type CommandContext } from '../command.ts';
import { settingsFlags, type GlobalOptions } from '../global-options.ts';
import { typedAs } from '../npm.ts';
import { formatTable } from '../table.ts';
import { exportNow } from './export.ts';
import { runWorker } from './run.ts';
import { syncNow } from './sync.ts';

/** Defines `demo`: runs sync, export and erasure on an embedded sandbox, in a fresh folder. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .option('--keep', 'afterwards run the worker beside the sandbox, with its status page, until it is stopped')
    .option('--hostile', 'generate values that many programs cannot read, as `sandbox --hostile` does');
  return {
    help: '\nExamples:\n  analytics-mirror demo\n  analytics-mirror demo --keep\n  analytics-mirror demo --data-dir ./demo --json',
    act: async () => {
      const flags = command.optsWithGlobals<GlobalOptions & { keep?: boolean; hostile?: boolean }>();
      const dataDir = flags.dataDir ?? temporaryFolder();
      // Invented persons must not be mixed with real ones.
      if (existsSync(databasePath(dataDir)))
        throw usageError(
          `the demo needs a fresh folder, and this one has a mirror: ${dataDir}`,
          'name another --data-dir, or leave it out for a temporary folder',
        );
      const say = (line: string): void => void context.stderr.write(`${line}\n`);
      const sandbox = await serveDemo({ say, hostile: flags.hostile });
      try {
        const surroundings = besideSandbox(sandbox, context.isTerminal);
        const set = [...demoSettings(sandbox), ...(flags.set ?? [])];
        // A configuration file of the user is no part of the demo, unless it is named.
        const settings = settingsFlags({ ...flags, dataDir, set });
        const app = createApp({ ...surroundings, clock: clockOf(sandbox) }, settings);
        await withApp(app, async () => {
          const report = await runDemo(app, sandbox, {
            signal: context.signal,
            say,
            sync: (own, job) => syncNow(own, context, job),
            publish: (own) => exportNow(own, context, null),
          });
          printResult(context, command, { json: report, text: demoText(report) });
        });
        if (!flags.keep) return;
        await using programs = createProjectApps(surroundings, settings);
        await runWorker(programs, context, (_worker, { statusUrl }) =>
          say(`the worker runs beside the sandbox; its status page: ${statusUrl} (end it with Ctrl-C)`),
        );
      } finally {
        await sandbox.close();
      }
    },
  };
}

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'analytics-mirror-demo-'));
  } catch (cause) {
    throw new AppError(`the demo cannot make a folder in ${tmpdir()} (${systemCode(cause) ?? 'unknown'})`, {
      code: 'storage',
      hint: 'set TMPDIR to a folder that can be written, or name a folder with --data-dir',
      cause,
    });
  }
}

function demoText({ dataDir, files, counts, snapshots, erasure, queries }: DemoReport): string {
  const folder = shellWord(dataDir);
  return `
${countTable(counts)}
${erasureTable(erasure)}
${formatTable(
  ['where', 'what'],
  [
    [files.mirror, 'the mirror, one SQLite file'],
    ...snapshots.map(({ dataset, snapshotId, bytes }) => [
      join(files.snapshots, dataset, snapshotId),
      `${dataset} as Parquet, ${bytesText(bytes)}, with manifest.json`,
    ]),
    [join(files.snapshots, 'CURRENT.json'), 'names the current snapshot of each dataset'],
    [erasure.certificate, 'the certificate of one of them, after the weekly batch of the service'],
    [erasure.report, "the auditor's report"],
    [join(dataDir, 'ledger', 'entries.jsonl'), 'what was done about erased people, step by step, without naming them'],
  ],
)}
Three queries to try, and what they answer now:

${queries
  .map(
    (answer) =>
      `${tryIt(answer.on, answer.sql, dataDir)}\n${formatTable(
        answer.columns,
        answer.rows.map((row) => row.map(String)),
      )
        .replaceAll(/^/gm, '    ')
        .trimEnd()}\n`,
  )
  .join('\n')}
The erased people:   ${typedAs} erase list --data-dir ${folder}
Check the proof:     ${typedAs} audit verify --data-dir ${folder}
Where things stand:  ${typedAs} status --data-dir ${folder}
Remove it all:       rm -r ${folder}
`;
}

/** The result of the erasure. */
function erasureTable(erasure: DemoErasure): string {
  return formatTable(
    ['erasing people', ''],
    [
      ['people erased', erasure.people],
      ['rows taken out of the mirror and of files', erasure.rowsRemoved],
      ['published files rewritten, over all generations', erasure.filesRewritten],
      ['pieces of them that a scan found before', erasure.foundBefore],
      ['pieces of them that a scan finds now', erasure.foundAfter],
      ['came back at the service, and kept out', erasure.keptOut],
      ['restoring an older mirror.db', erasure.olderCopy],
      ['ledger, certificate and files', erasure.isVerified ? 'verified' : 'NOT VERIFIED'],
    ],
  );
}

function countTable(counts: DemoReport['counts']): string {
  return formatTable(
    ['rows in', 'the service', 'the mirror', 'Parquet', 'the pass is'],
    counts.map(({ dataset, service, mirror, parquet, verdict }) => [dataset, service, mirror, parquet, verdict]),
  ).concat(remainderText(counts));
}

/** Why the service has more persons than the mirror. */
function remainderText(counts: DemoReport['counts']): string {
  const { service = 0, mirror = 0 } = counts.find(({ dataset }) => dataset === 'persons') ?? {};
  if (service === mirror) return '';
  return `${countedText(service - mirror, 'person')} more: erased people who have come back at the service. The fence keeps them out.\n`;
}

function tryIt(on: string, sql: string, dataDir: string): string {
  // Between double quotes, since the statement has single ones.
  const word = `"${sql.replaceAll(/[$"\\`]/g, String.raw`\$&`)}"`;
  return on === 'SQLite' ? `  ${typedAs} query --data-dir ${shellWord(dataDir)} ${word}\n` : `  duckdb -c ${word}\n`;
}
