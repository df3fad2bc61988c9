import { refuseUnbound } from '../erasure/fence/restore-guard.ts';
import type { JobContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import type { WarehousePlace } from '../load/address.ts';
import { loadWarehouse, type LoadedTable } from '../load/load.ts';

/** Makes the tables of a warehouse what is published, as one run of `load`: no export and no erasure runs meanwhile. */
export function runLoadJob(context: JobContext, place: WarehousePlace): Promise<JobResult & { tables: LoadedTable[] }> {
  return runJob(context, 'load', async (own) => {
    await refuseUnbound(own);
    const { published, settings, signal } = own;
    const tables = await loadWarehouse(place, { published, project: settings.service.projectId, signal });
    return { outcome: 'done', counts: { changed: tables.filter(({ did }) => did !== 'nothing').length }, tables };
  });
}
