import { recordSeen } from '../erasure/acknowledge.ts';
import { refuseUnbound } from '../erasure/fence/restore-guard.ts';
import type { JobContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import type { WarehousePlace } from '../load/address.ts';
import { loadWarehouse, type Loaded } from '../load/load.ts';
import { prepareIsFenced } from '../mirror/fence.ts';

/**
 * Makes the tables of a warehouse what is published, as one run of `load`: no export and no erasure runs meanwhile. Where a consumer is
 * named, whose warehouse it is, the tables are looked at for everybody who was erased, and the ledger says what was observed.
 * Throws `usage` for a consumer that the settings do not name.
 */
export function runLoadJob(context: JobContext, place: WarehousePlace, consumer?: string): Promise<JobResult & Loaded> {
  return runJob(context, 'load', async (own) => {
    await refuseUnbound(own);
    const { db, published, settings, signal } = own;
    const isFenced = consumer === undefined ? undefined : prepareIsFenced(db);
    const project = settings.service.projectId;
    const { tables, looked } = await loadWarehouse(place, { published, project, signal, isFenced });
    const clean = looked.flatMap(({ table, left }) => (left === 0 ? table : [])).toSorted();
    const bare = [...new Set(looked.flatMap(({ table, left }) => (left === 0 ? [] : table)))].toSorted();
    if (consumer !== undefined && clean.length > 0)
      recordSeen(own, consumer, { assurance: 'observed', tables: clean, not_covered: bare });
    const counts = { changed: tables.filter(({ did }) => did !== 'nothing').length };
    const isLeft = looked.some(({ left }) => (left ?? 0) > 0);
    return {
      outcome: isLeft ? 'incomplete' : 'done',
      ...(isLeft && { reason: 'erased_left' }),
      counts,
      tables,
      looked,
    };
  });
}
