import { mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../core/atomic-file.ts';
import { sha256 } from '../core/digest.ts';
import { makeFolder, temporaryFolder } from '../core/folder.ts';
import type { JobContext } from '../job/job-context.ts';
import { drillFile, drillPrefix, removeLeftDrills } from '../job/left-drills.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { holdDrill, type Drill } from './drill.ts';

/** A drill, and the file that it is filed in. */
type DrillJobResult = JobResult & { drill: Drill; file: string };

/** Holds a drill as one run, files its report, and signs its SHA-256 on the ledger. Incomplete when it failed. */
export function runDrillJob(context: JobContext): Promise<DrillJobResult> {
  return runJob(context, 'drill', async ({ settings, signal, ledger: openLedger }) => {
    const fresh = mkdtempSync(join(temporaryFolder(settings.dataDir), drillPrefix));
    const drill = await holdDrill(fresh, signal).finally(() => removeLeftDrills(settings.dataDir));
    const { startedAt, outcome, steps } = drill;
    const file = drillFile(settings.dataDir, startedAt);
    const text = `${JSON.stringify(drill, null, 2)}\n`;
    makeFolder(dirname(file));
    replaceFile(file, text);
    openLedger().append([{ type: 'drill', outcome, steps: steps.length, report: sha256(text) }]);
    const passed = steps.filter((step) => step.passed).length;
    return {
      outcome: outcome === 'passed' ? 'done' : 'incomplete',
      counts: { steps: steps.length, passed },
      drill,
      file,
    };
  });
}
