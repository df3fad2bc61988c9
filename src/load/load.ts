import type { PublishedDataset } from '../contract/datasets.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import type { WarehousePlace } from './address.ts';
import { withWarehouse } from './open-warehouse.ts';
import { loadedComment, planLoad } from './plan.ts';
import { lookAt, type IsFenced, type LookedTable } from './look.ts';
import { publishedTables, type PublishedTable } from './published.ts';

/** What a load did to a table. It did nothing, loaded everything, or took over the changes of so many deltas and of the deletions. */
export type LoadedTable = {
  dataset: PublishedDataset;
  snapshotId: string;
  did: 'nothing' | 'everything' | 'changes';
  deltas: number;
  /** Of the pass that the snapshot was made after; null where there was none. */
  verdict: 'complete' | 'incomplete' | null;
};

/** Where a load happens. `isFenced`: where given, it looks afterwards whether anybody is left in the tables. */
type Loading = {
  published: PublishedFiles;
  project: string | null;
  signal: AbortSignal;
  isFenced?: IsFenced | undefined;
};

/**
 * Makes the tables of a warehouse what is published now. What was loaded stands in the tables' comments: so a load that was killed
 * is begun again, and one after which nothing was published does nothing. `project`: whose tables may be changed. A table in which
 * somebody is found who is fenced, as after an old file was filled in, is loaded as a whole, and looked at again. No export and no
 * erasure may run meanwhile. Throws as `publishedTables`, `planLoad` and the warehouse do.
 */
export async function loadWarehouse(
  place: WarehousePlace,
  { published, project, signal, isFenced }: Loading,
): Promise<{ tables: LoadedTable[]; looked: LookedTable[] }> {
  const wanted = publishedTables(published);
  const done: LoadedTable[] = [];
  const looked = await withWarehouse(place, { published, isReadOnly: false, signal }, async (warehouse, reader) => {
    let looks: LookedTable[] = [];
    await warehouse.together(async () => {
      const there = await warehouse.tables();
      for (const table of wanted) {
        signal.throwIfAborted();
        const { dataset, links, newest, verdict } = table;
        const present = there.get(dataset);
        const plan = planLoad(table, present, project);
        if (plan.is !== 'unchanged')
          await warehouse.apply({ table, plan, comment: loadedComment(table, project), present });
        done.push({
          dataset,
          snapshotId: newest.snapshotId,
          did: plan.is === 'unchanged' ? 'nothing' : plan.is === 'full' ? 'everything' : 'changes',
          deltas: plan.is === 'delta' ? links.length - 1 - plan.after : 0,
          verdict,
        });
      }
      const reload = async (table: PublishedTable): Promise<void> => {
        const present = (await warehouse.tables()).get(table.dataset);
        await warehouse.apply({ table, plan: { is: 'full' }, comment: loadedComment(table, project), present });
      };
      const { schema } = place;
      if (isFenced) looks = await lookAt({ warehouse, schema, reader, isFenced, reload, signal }, wanted, there);
    });
    return looks;
  });
  return { tables: done, looked };
}
