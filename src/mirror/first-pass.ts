import type { Database } from 'better-sqlite3';
import { datasets, pagedDatasets, type PagedDataset } from '../contract/datasets.ts';
import { transact } from './transact.ts';
import { TextMap } from '../core/text-map.ts';
import { prepareFindKey, prepareFindOwner, prepareFindRowKey } from './tables.ts';

/** More rows than this are indexed one by one: another process waits ten seconds for the transaction that sorts them. */
const rowsMax = 3_500_000;

/**
 * The first pass into an empty mirror, while it is on: the indexes on keys and distinct ids, which stand in random order, are
 * absent, and maps in memory answer for them. Such an index would write a page of the file for each row. The schema itself
 * says that they are absent.
 */
export type FirstPass = {
  /** The surrogate key of a row; also when it is no longer on. */
  findRowKey: (key: string) => number | undefined;
  /** Notes a row that was added. */
  note: (key: string, rowKey: number) => void;
  /** The person who holds a distinct id, by the surrogate key; also when it is no longer on. */
  ownerOf: (distinctId: string) => number | undefined;
  /** Notes a person who now holds a distinct id. */
  noteOwner: (distinctId: string, rowKey: number) => void;
  /** Ends it: makes the indexes. Call it in the transaction of a page. */
  end: () => void;
};

/** Begins a pass. It is a first pass only if it is full and finds an empty table. */
export function beginFirstPass(db: Database, dataset: PagedDataset, { isFull }: { isFull: boolean }): FirstPass {
  makeMissingIndexes(db);
  const isEmpty = (table: string): boolean => db.prepare(/*sql*/ `SELECT 1 FROM ${table} LIMIT 1`).get() === undefined;
  const { heldIds } = datasets[dataset];
  const tables = [dataset, ...(heldIds ? ['distinct_id_owners', 'distinct_ids_lost'] : [])];
  let maps: { rows: TextMap; owners: TextMap } | undefined;
  if (isFull && tables.every(isEmpty)) {
    transact(db, () => {
      for (const { name } of indexesOf(dataset)) db.exec(/*sql*/ `DROP INDEX ${name}`);
    });
    maps = { rows: new TextMap(), owners: new TextMap() };
  }
  const findKey = prepareFindKey(db, dataset);
  const findIndexed = prepareFindRowKey(db, dataset);
  const isOwner = db.prepare<[number, string]>(
    /*sql*/ `SELECT 1 FROM distinct_id_owners WHERE person_row_key = ? AND distinct_id = ?`,
  );
  const findOwner = prepareFindOwner(db);
  const end = (): void => {
    if (!maps) return;
    makeMissingIndexes(db);
    maps = undefined;
  };
  return {
    findRowKey: (key) => (maps ? maps.rows.find(key, (rowKey) => findKey(rowKey) === key) : findIndexed(key)),
    note: (key, rowKey) => {
      maps?.rows.add(key, rowKey);
      if (maps && maps.rows.size >= rowsMax) end();
    },
    ownerOf: (distinctId) =>
      maps
        ? maps.owners.find(distinctId, (rowKey) => isOwner.get(rowKey, distinctId) !== undefined)
        : findOwner(distinctId),
    noteOwner: (distinctId, rowKey) => maps?.owners.add(distinctId, rowKey),
    end,
  };
}

/** Makes the indexes that a first pass has left out and a kill has kept from being made. */
export function makeMissingIndexes(db: Database): void {
  const has = db.prepare<[string]>(/*sql*/ `SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?`);
  const missing = pagedDatasets.flatMap(indexesOf).filter(({ name }) => has.get(name) === undefined);
  if (missing.length === 0) return;
  const make = (): void => {
    for (const { name, on } of missing) db.exec(/*sql*/ `CREATE UNIQUE INDEX IF NOT EXISTS ${name} ON ${on}`);
  };
  if (db.inTransaction) make();
  else transact(db, make);
}

/** The indexes of a dataset on texts in random order. */
function indexesOf(dataset: PagedDataset): { name: string; on: string }[] {
  const { key, heldIds } = datasets[dataset];
  return [
    { name: `${dataset}_by_${key}`, on: `${dataset} (${key})` },
    ...(heldIds ? [{ name: 'distinct_id_owners_by_distinct_id', on: 'distinct_id_owners (distinct_id)' }] : []),
  ];
}
