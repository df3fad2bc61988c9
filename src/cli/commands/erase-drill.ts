import { join } from 'node:path';
import type { Command } from 'commander';
import { replaceFile } from '../../core/atomic-file.ts';
import { sha256 } from '../../core/digest.ts';
import { makeFolder } from '../../core/make-folder.ts';
import { reportsFolder } from '../../erasure/certificate-file.ts';
import { runEraseJob } from '../../worker/erase-job.ts';
import { runCommand } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { holdDrill, type Drill } from '../drill.ts';
import { exitCodes } from '../exit-code.ts';
import { formatTime } from '../format.ts';
import { erasureJob } from '../service-job.ts';
import { formatTable } from '../table.ts';

/** Adds `erase drill`: shows that erasing works, on somebody invented. */
export function addEraseDrillCommand(erase: Command, context: CommandContext): void {
  erase
    .command('drill')
    .description(
      'show that erasing works: erase somebody invented from an embedded service, and file the result',
    )
    .addHelpText(
      'after',
      `
Runs the whole way, from the sync to the sealed certificate, in a folder of its own that is removed afterwards; your mirror
and your service are not touched. The result goes to reports/drills/ and onto the ledger, so that an audit sees that the
machinery works even in a month without requests. Exit codes: 0 passed, 1 failed.

Examples:
  analytics-mirror erase drill`,
    )
    .action((_options: unknown, command: Command) =>
      runCommand(context, command, async (app) => {
        const drill = await holdDrill(context);
        const file = join(
          reportsFolder(app.settings.dataDir),
          'drills',
          `${drill.startedAt.slice(0, 10)}-${sha256(drill.startedAt).slice(0, 8)}.json`,
        );
        const text = `${JSON.stringify(drill, null, 2)}\n`;
        await runEraseJob(erasureJob(app, context), ({ ledger }) => {
          makeFolder(join(file, '..'));
          replaceFile(file, text);
          ledger.append([
            { type: 'drill', outcome: drill.outcome, steps: drill.steps.length, report: sha256(text) },
          ]);
          ledger.checkpoint();
          return Promise.resolve({ outcome: 'done', counts: { steps: drill.steps.length } } as const);
        });
        if (drill.outcome === 'failed') context.setExitCode(exitCodes.failed);
        return { json: { ...drill, file }, text: `${drillText(drill)}filed as ${file}\n` };
      }),
    );
}

function drillText({ steps, outcome, finishedAt }: Drill): string {
  return formatTable(
    [{ heading: `drill ${outcome}, ${formatTime(finishedAt)}` }, { heading: '' }],
    steps.map(({ step, passed }) => [step, passed ? 'yes' : 'NO']),
  );
}
