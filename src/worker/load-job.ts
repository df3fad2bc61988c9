import { recordSeen } from '../erasure/acknowledge.ts';
import { readPrivateFile } from '../config/private-file.ts';
import type { Settings } from '../config/settings.ts';
import { AppError, usageError } from '../core/errors.ts';
import { isWithin } from '../core/folder.ts';
import { refuseUnbound } from '../erasure/fence/restore-guard.ts';
import type { JobContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { ledgerOrigin } from '../ledger/checkpoint.ts';
import { warehousePlace, type WarehousePlace } from '../load/address.ts';
import { loadWarehouse, type Loaded } from '../load/load.ts';
import { prepareIsFenced } from '../mirror/fence.ts';

/** The warehouse that the settings name, with its password. Throws `usage` where they name none, or one that cannot be used. */
export function configuredWarehouse({ export: { load } }: Pick<Settings, 'export'>): WarehousePlace {
  const { into, schema, passwordFile } = load;
  if (into === null) throw usageError('no warehouse is named', 'give --into, or set export.load.into');
  const password = passwordFile === null ? null : readPrivateFile(passwordFile, 'export.load.passwordFile').trim();
  return warehousePlace(into, schema, password);
}

/**
 * Makes the tables of a warehouse what is published, as one run of `load`: no export and no erasure runs meanwhile. Where a consumer is
 * named, whose warehouse it is, the tables are looked at for everybody who was erased, and the ledger says what was observed. Throws `usage`
 * for a file in the data folder, and `storage` where the warehouse has tables of this mirror that are not published now.
 */
export async function runLoadJob(
  context: JobContext,
  place: WarehousePlace,
  consumer: string | null,
): Promise<JobResult & Loaded> {
  if (place.engine === 'duckdb' && isWithin(context.settings.dataDir, place.at))
    throw usageError(`${place.at} is in the data folder, where no erasure could read it`, 'name a file outside');
  return runJob(context, 'load', async (own) => {
    await refuseUnbound(own);
    const { db, published, settings, signal } = own;
    const isFenced = consumer === null ? undefined : prepareIsFenced(db);
    // Two services have projects of one id, and a project can have two mirrors.
    const ledger = ledgerOrigin(settings.dataDir, own.ledger());
    const { tables, looked, unpublished } = await loadWarehouse(place, { published, ledger, signal, isFenced });
    const clean = looked.flatMap(({ table, left }) => (left === 0 ? table : [])).toSorted();
    const bare = [...new Set(looked.flatMap(({ table, left }) => (left === 0 ? [] : table)))].toSorted();
    if (consumer !== null && clean.length > 0)
      recordSeen(own, consumer, { assurance: 'observed', tables: clean, not_covered: bare });
    if (unpublished.length > 0)
      throw new AppError(`the warehouse has tables that are not published now: ${unpublished.join(', ')}`, {
        code: 'storage',
        hint: 'they can hold people who were erased since: run `analytics-mirror export` and load again, or drop them; the others are loaded',
      });
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
