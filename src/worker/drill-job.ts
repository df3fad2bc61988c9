import { join } from 'node:path';
import { replaceFile } from '../core/atomic-file.ts';
import { sha256 } from '../core/digest.ts';
import { makeFolder } from '../core/make-folder.ts';
import { reportsFolder } from '../erasure/certificate-file.ts';
import type { ErasureJobSurroundings } from './job-parts.ts';
import { runJob, type JobResult } from './run-job.ts';

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

/**
 * Holds an exercise, and files it: as JSON in reports/drills/, and its SHA-256 on the ledger, which is signed. Incomplete
 * when it failed.
 */
export function runDrillJob(
  around: Omit<ErasureJobSurroundings, 'service' | 'project'>,
  hold: (signal: AbortSignal) => Promise<Drill>,
): Promise<DrillJobResult> {
  const { settings, openLedger } = around;
  return runJob({ ...around, job: 'drill', requestCount: () => 0 }, async (signal) => {
    const drill = await hold(signal);
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
