import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../core/atomic-file.ts';
import { sha256 } from '../core/digest.ts';
import { makeFolder, temporaryFolder } from '../core/folder.ts';
import { reportsFolder } from '../erasure/proof/certificate-file.ts';
import type { JobContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';

/** One thing that the exercise had to show. */
export type DrillStep = { step: string; passed: boolean };

/** What an exercise came to. Nobody in it is real. */
export type Drill = {
  startedAt: string;
  finishedAt: string;
  outcome: 'passed' | 'failed';
  steps: DrillStep[];
};

/** An exercise, and the file that tells of it. */
export type DrillJobResult = JobResult & { drill: Drill; file: string };

/** Holds an exercise in a folder, which is empty. */
export type HoldDrill = (folder: string, signal: AbortSignal) => Promise<Drill>;

const folderPrefix = 'drill-';

/**
 * Holds an exercise in an empty folder, and files it: as JSON in reports/drills/, and its SHA-256 on the ledger, which is
 * signed. Incomplete when it failed.
 */
export function runDrillJob(context: JobContext, hold: HoldDrill): Promise<DrillJobResult> {
  return runJob(context, 'drill', async ({ settings, signal, ledger: openLedger }) => {
    const drill = await inFolder(settings.dataDir, (folder) => hold(folder, signal));
    const { startedAt, outcome, steps } = drill;
    const folder = join(reportsFolder(settings.dataDir), 'drills');
    const file = join(folder, `${startedAt.slice(0, 10)}-${sha256(startedAt).slice(0, 8)}.json`);
    const text = `${JSON.stringify(drill, null, 2)}\n`;
    makeFolder(folder);
    replaceFile(file, text);
    const ledger = openLedger();
    ledger.append([{ type: 'drill', outcome, steps: steps.length, report: sha256(text) }]);
    ledger.checkpoint();
    const passed = steps.filter((step) => step.passed).length;
    return {
      outcome: outcome === 'passed' ? 'done' : 'incomplete',
      counts: { steps: steps.length, passed },
      drill,
      file,
    };
  });
}

/** In a temporary folder that is gone afterwards; one that a kill has left goes before. */
async function inFolder<T>(dataDir: string, use: (folder: string) => Promise<T>): Promise<T> {
  const parent = temporaryFolder(dataDir);
  const clear = (): void => {
    for (const name of readdirSync(parent))
      if (name.startsWith(folderPrefix)) rmSync(join(parent, name), { recursive: true });
  };
  clear();
  try {
    return await use(mkdtempSync(join(parent, folderPrefix)));
  } finally {
    clear();
  }
}
