import { publishedDatasets, type PublishedDataset } from '../contract/datasets.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import type { WarehousePlace } from './address.ts';
import { withWarehouse } from './open-warehouse.ts';
import { isLoadedBy, loadedComment, planLoad, type LoadPlan } from './plan.ts';
import { lookAt, type Look, type LookedTable } from './look.ts';
import { publishedTables } from './published.ts';

/** What a load did to a table. It did nothing, loaded everything, or took over the changes of so many deltas and of the deletions. */
export type LoadedTable = {
  dataset: PublishedDataset;
  snapshotId: string;
  did: 'nothing' | 'everything' | 'changes';
  deltas: number;
  /** Of the pass that the snapshot was made after; null where there was none. */
  verdict: 'complete' | 'incomplete' | null;
};

/** What a load did to each table, and what was found in those that were looked at. */
export type Loaded = { tables: LoadedTable[]; looked: LookedTable[] };

/**
 * Makes the tables of a warehouse what is published now. What was loaded stands in the tables' comments: so a load that was killed
 * is begun again, and one after which nothing was published does nothing. `ledger`: the name of that by which the tables may be changed. Where
 * `isFenced` is given, the tables are looked at for erased people: a table in which
 * somebody is found, as after an old file was filled in, is loaded as a whole, and looked at again. `unpublished`: tables of this mirror
 * that stay as they were, since nothing of them is published now. No export and no erasure may run meanwhile. Throws as `publishedTables`, `planLoad` and the warehouse do.
 */
export async function loadWarehouse(
  place: WarehousePlace,
  {
    published,
    ledger,
    signal,
    isFenced,
  }: Pick<Look, 'ledger' | 'signal'> & { published: PublishedFiles; isFenced?: Look['isFenced'] | undefined },
): Promise<Loaded & { unpublished: PublishedDataset[] }> {
  const wanted = publishedTables(published);
  const done: LoadedTable[] = [];
  let looked: LookedTable[] = [];
  let unpublished: PublishedDataset[] = [];
  await withWarehouse(place, { published, isReadOnly: false, signal }, (warehouse, reader) =>
    warehouse.together(async () => {
      const there = new Map(await warehouse.tables());
      unpublished = publishedDatasets.filter((dataset) => {
        const present = there.get(dataset);
        return present && isLoadedBy(ledger, present) && !wanted.some((table) => table.dataset === dataset);
      });
      for (const table of wanted) {
        signal.throwIfAborted();
        const { dataset, links, newest, verdict } = table;
        const present = there.get(dataset);
        const planned = planLoad(table, present, ledger, warehouse.dialect.types);
        // A copy of a table's definition has its comment, too.
        const isEmptied =
          present !== undefined &&
          links.some(({ rows }) => rows > 0) &&
          (await warehouse.query(`SELECT 1 FROM ${warehouse.nameOf(dataset)} LIMIT 1`)).length === 0;
        const plan: LoadPlan = isEmptied ? { is: 'full' } : planned;
        if (plan.is !== 'unchanged')
          await warehouse.apply({ table, plan, comment: loadedComment(table, ledger), present });
        // A table that was empty before this load shows nothing about the persons that it once held.
        if (isEmptied) there.delete(dataset);
        done.push({
          dataset,
          snapshotId: newest.snapshotId,
          did: plan.is === 'unchanged' ? 'nothing' : plan.is === 'full' ? 'everything' : 'changes',
          deltas: plan.is === 'delta' ? links.length - 1 - plan.after : 0,
          verdict,
        });
      }
      const { schema } = place;
      if (isFenced) looked = await lookAt({ warehouse, schema, reader, isFenced, ledger, signal }, wanted, there);
    }),
  );
  return { tables: done, looked, unpublished };
}
