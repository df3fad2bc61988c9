import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../core/atomic-file.ts';
import { sha256 } from '../core/digest.ts';
import { makeFolder, temporaryFolder, reportsFolder } from '../core/folder.ts';
import type { JobContext } from '../job/job-context.ts';
import { drillPrefix, removeLeftDrills } from '../job/left-drills.ts';
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
    const folder = join(reportsFolder(settings.dataDir), 'drills');
    const file = join(folder, `${startedAt.slice(0, 10)}-${sha256(startedAt).slice(0, 8)}.json`);
    const text = `${JSON.stringify(drill, null, 2)}\n`;
    makeFolder(folder);
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
