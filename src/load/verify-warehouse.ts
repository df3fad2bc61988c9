import { keyKind, type PublishedDataset } from '../contract/datasets.ts';
import { createHash } from 'node:crypto';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import type { WarehousePlace } from './address.ts';
import { bucketDigests, bucketRows, dialects, hashedRows, storedRows } from './dialect.ts';
import { rowsRead, type Reader } from './duckdb-reader.ts';
import { withWarehouse } from './open-warehouse.ts';
import { hasColumns, isLoadedFrom } from './plan.ts';
import { allRows, publishedTables, type PublishedTable } from './published.ts';
import type { Warehouse } from './warehouse.ts';

/**
 * A row that is not as published: `missing` in the warehouse; `extra`, published no more; `stale`, with other values; `doubled`. `key`
 * is its key, or the MD5 of it where that is a distinct id, which may be an e-mail address.
 */
type RowDifference = { key: string; is: 'missing' | 'extra' | 'stale' | 'doubled' };

/**
 * How a table of a warehouse stands to what is published. `rows`: those published, and those that the warehouse has. Of many
 * differences, the first are named.
 */
export type TableCheck = {
  dataset: PublishedDataset;
  state: 'equal' | 'differs' | 'not_loaded' | 'other_columns';
  /** Whether the newest snapshot was loaded. */
  isCurrent: boolean;
  rows: { published: number; held: number };
  differences: RowDifference[];
};

/** So many differences of a table are named. */
const namedMax = 1000;

/**
 * Holds the tables of a warehouse against what is published now, by the digests of 256 buckets of keys: only the digests are fetched,
 * and of a bucket that differs its keys. Throws as `publishedTables`, `isLoadedFrom` and the warehouse do.
 */
export async function verifyWarehouse(
  place: WarehousePlace,
  { published, signal }: { published: PublishedFiles; signal: AbortSignal },
  datasets: readonly PublishedDataset[],
): Promise<TableCheck[]> {
  const wanted = publishedTables(published).filter(({ dataset }) => datasets.includes(dataset));
  return withWarehouse(place, { published, isReadOnly: true, signal }, async (warehouse, reader) => {
    const there = await warehouse.tables();
    const checks: TableCheck[] = [];
    for (const table of wanted) {
      signal.throwIfAborted();
      const { dataset, columns } = table;
      const present = there.get(dataset);
      const bare = { dataset, isCurrent: present !== undefined && isLoadedFrom(table, present), differences: [] };
      const rows = { published: 0, held: 0 };
      if (present === undefined) checks.push({ ...bare, state: 'not_loaded', rows });
      else if (!hasColumns(present, columns, warehouse.dialect.types))
        checks.push({ ...bare, state: 'other_columns', rows });
      else checks.push({ ...bare, ...(await compare(table, warehouse, reader)) });
    }
    return checks;
  });
}

async function compare(
  table: PublishedTable,
  warehouse: Warehouse,
  reader: Reader,
): Promise<Pick<TableCheck, 'state' | 'rows' | 'differences'>> {
  const { dataset, key, columns } = table;
  const { dialect } = warehouse;
  const stored = `(${storedRows(columns, allRows(table), dialect)})`;
  const published = hashedRows(key, columns, stored, dialects.duckdb);
  const held = hashedRows(key, columns, warehouse.nameOf(dataset), dialect);
  const own = await rowsRead(reader, bucketDigests(published, dialects.duckdb));
  const other = await warehouse.query(bucketDigests(held, dialect));
  const rows = { published: sumOf(own), held: sumOf(other) };
  const differing = bucketsThatDiffer(own, other);
  const differences: RowDifference[] = [];
  for (const bucket of differing) {
    if (differences.length >= namedMax) break;
    const wanted = await rowsRead(reader, bucketRows(published, bucket, dialects.duckdb));
    differences.push(...differencesOf(wanted, await warehouse.query(bucketRows(held, bucket, dialect))));
  }
  const isNamed = keyKind(dataset) !== 'distinct_id';
  const nameOf = (key: string): string => (isNamed ? key : createHash('md5').update(key).digest('hex'));
  return {
    state: differing.length === 0 ? 'equal' : 'differs',
    rows,
    differences: differences.slice(0, namedMax).map(({ key: name, is }) => ({ key: nameOf(name), is })),
  };
}

function sumOf(digests: readonly string[][]): number {
  return digests.reduce((sum, [, rows]) => sum + Number(rows), 0);
}

/** The buckets whose digests are not the same on both sides, in the order of their names. */
function bucketsThatDiffer(own: readonly string[][], other: readonly string[][]): string[] {
  const textOf = ([, rows, hashes]: readonly string[]): string => `${rows} ${hashes}`;
  const [mine, theirs] = [own, other].map((side) => new Map(side.map((one) => [one[0] ?? '', textOf(one)])));
  const names = new Set([...(mine?.keys() ?? []), ...(theirs?.keys() ?? [])]);
  return [...names].filter((name) => mine?.get(name) !== theirs?.get(name)).toSorted();
}

/** The differences between rows of key and hash: those wanted, and those held. A key may have several rows. */
function differencesOf(wanted: readonly string[][], held: readonly string[][]): RowDifference[] {
  const [mine, theirs] = [wanted, held].map((side) => Map.groupBy(side, ([key]) => key ?? ''));
  const keys = new Set([...(mine?.keys() ?? []), ...(theirs?.keys() ?? [])]);
  return [...keys].toSorted().flatMap((key): RowDifference[] => {
    const [own, other] = [mine, theirs].map((side) => (side?.get(key) ?? []).map(([, hash]) => hash ?? '').toSorted());
    if (own === undefined || other === undefined || own.join() === other.join()) return [];
    if (other.length === 0) return [{ key, is: 'missing' }];
    if (own.length === 0) return [{ key, is: 'extra' }];
    const isMore = other.length > own.length && other.every((hash) => own.includes(hash));
    return [{ key, is: isMore ? 'doubled' : 'stale' }];
  });
}
