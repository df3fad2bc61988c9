import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import { ReaderTable } from '../contract/names.ts';
import { readerKinds, type ReaderKind } from '../mirror/fence-entries.ts';
import { sqlName, sqlText } from '../snapshot/duckdb.ts';
import { storedRows } from './dialect.ts';
import { rowsRead, type Reader } from './duckdb-reader.ts';
import { loadedComment, type WarehouseTable } from './plan.ts';
import { allRows, type PublishedTable } from './published.ts';
import type { Warehouse } from './warehouse.ts';

/**
 * A table that can hold people, with its schema before it: how many identifiers of erased people were found in it, and how many are left.
 * `left` is null where nothing is seen by that: the load has just made the table, or another program did, or no control row was found.
 */
export type LookedTable = { table: string; found: number; left: number | null };

/** What a look needs. `isFenced`: whether an identifier is one of somebody who was erased; `ledger`: its name, which the tables have. */
export type Look = {
  warehouse: Warehouse;
  schema: string;
  reader: Reader;
  isFenced: (kind: ReaderKind, value: string) => boolean;
  ledger: string;
  signal: AbortSignal;
};

const digits = [...'0123456789abcdef'];
const rowsAtOnce = 500_000;
/** So many tables of others are named, and else their schema. */
const othersMax = 100;

/**
 * Looks for erased people in the tables of a warehouse that was just loaded, in which a row that is published has to be found by the same
 * statements. A table that has some is loaded as a whole, and looked at again. `before`: the tables that were there before the load.
 */
export async function lookAt(
  look: Look,
  wanted: readonly PublishedTable[],
  before: ReadonlyMap<string, WarehouseTable>,
): Promise<LookedTable[]> {
  const { schema, ledger, warehouse } = look;
  // A name that the ledger cannot hold stands under its schema's.
  const shown = (name: string): string => ReaderTable.safeParse(`${schema}.${name}`).data ?? schema;
  // A table of a dataset that is not published now is not looked at either.
  const others = [...before.keys()].filter((name) => !wanted.some(({ dataset }) => dataset === name)).map(shown);
  // An entry of the ledger has an end.
  const named = others.length > othersMax ? [schema] : others;
  const looked: LookedTable[] = named.map((table) => ({ table, found: 0, left: null }));
  for (const table of wanted) {
    const { dataset } = table;
    // `deletions` names rows that have left, until its time is over.
    if (dataset === 'deletions' || readerColumns(dataset).length === 0) continue;
    // An empty warehouse in the place of the one that has to forget shows nothing.
    const found = before.has(dataset) ? await countFenced(look, table) : null;
    if (found) {
      const present = (await warehouse.tables()).get(dataset);
      await warehouse.apply({ table, plan: { is: 'full' }, comment: loadedComment(table, ledger), present });
    }
    looked.push({ table: shown(dataset), found: found ?? 0, left: found ? await countFenced(look, table) : found });
  }
  return looked;
}

/** The columns of a dataset that hold what stands in the fence of readers. */
function readerColumns(dataset: PublishedDataset): { column: string; kind: ReaderKind }[] {
  return datasets[dataset].identifiers.flatMap(({ column, role }) => {
    const kind = readerKinds.find((one) => one === role);
    return kind ? { column, kind } : [];
  });
}

/** How many identifiers in a table are of erased people. Null without a control: of each column, a published value has to be found. */
async function countFenced(
  { warehouse, reader, isFenced, signal }: Look,
  table: PublishedTable,
): Promise<number | null> {
  const { dialect, nameOf, query } = warehouse;
  const name = nameOf(table.dataset);
  const [[count = ''] = []] = await query(`SELECT ${dialect.text('count(*)')} FROM ${name}`);
  // A part of the values at a time: of millions, all would not fit.
  const atOnce = Math.max(1, Math.floor(digits.length / Math.ceil(Number(count) / rowsAtOnce)));
  let [fenced, controls] = [0, 0];
  for (const { column, kind } of readerColumns(table.dataset)) {
    const stored = storedRows([{ name: column, type: 'string' }], allRows(table), dialect);
    const someValue = `SELECT * FROM (${stored}) WHERE ${sqlName(column)} IS NOT NULL LIMIT 1`;
    const [[control] = []] = await rowsRead(reader, someValue);
    const own = dialect.name(column);
    let isFound = false;
    for (let at = 0; at < digits.length; at += atOnce) {
      signal.throwIfAborted();
      const part = digits.slice(at, at + atOnce).map(sqlText);
      const isPart = `substr(${dialect.digest(own)}, 1, 1) IN (${part.join(', ')})`;
      const rows = await query(`SELECT DISTINCT ${own} FROM ${name} WHERE ${isPart}`);
      for (const [value] of rows) {
        if (value === control) isFound = true;
        if (value && isFenced(kind, kind === 'person_uuid' ? value.toLowerCase() : value)) fenced += 1;
      }
    }
    if (control !== undefined && !isFound) return null;
    if (control !== undefined) controls += 1;
  }
  return controls > 0 ? fenced : null;
}
