import { z } from 'zod';
import { AppError, usageError } from '../core/errors.ts';
import { readJson } from '../core/exact-json.ts';
import type { Dialect, LoadedColumn } from './dialect.ts';
import type { PublishedTable } from './published.ts';

/** What was loaded into a table: by which ledger's name, the newest snapshot, with the digest of the manifests up to it, and the deletions that were applied. */
const LoadedState = z.strictObject({
  ledger: z.string(),
  snapshot: z.string(),
  digest: z.string(),
  deletions: z.string().nullable(),
  seq: z.int(),
  epoch: z.int(),
});
type LoadedState = z.infer<typeof LoadedState>;

/** A table as it is in the warehouse: its comment, and the types of its columns as the engine names them. */
export type WarehouseTable = { comment: string | null; columns: ReadonlyMap<string, string> };

/** The plan for a table: it is unchanged, all rows are loaded, or the changes are loaded that came after the snapshot at `after`. */
export type LoadPlan = { is: 'unchanged' } | { is: 'full' } | { is: 'delta'; after: number };

/** How the comments begin that say what was loaded. */
const mark = 'analytics-mirror load ';

/** The comment of a table that is as published. It is a part of the table: a load changes both at once. */
export function loadedComment({ newest, gone }: PublishedTable, ledger: string): string {
  const { snapshotId: snapshot, digest, seq, epoch } = newest;
  const state: LoadedState = { ledger, snapshot, digest, deletions: gone?.digest ?? null, seq, epoch };
  return `${mark}${JSON.stringify(state)}`;
}

/**
 * Plans what a table needs. Files that an erasure has written anew have another digest: then all rows are loaded anew. Throws
 * `usage` for a table that another program or another mirror has made, and `storage` where what is published is older than what
 * was loaded: it could bring people back who were erased since.
 */
export function planLoad(
  table: PublishedTable,
  present: WarehouseTable | undefined,
  ledger: string,
  types: Dialect['types'],
): LoadPlan {
  if (present === undefined) return { is: 'full' };
  const { dataset, links, gone } = table;
  const state = stateOf(present.comment);
  if (state?.ledger !== ledger)
    throw usageError(
      `the warehouse has a table ${dataset} that was not loaded from this mirror`,
      'name another schema by --schema, or drop that table',
    );
  refuseOlder(table, state);
  const after = links.findIndex(({ digest }) => digest === state.digest);
  if (after === -1 || !hasColumns(present, table.columns, types)) return { is: 'full' };
  const isNew = after === links.length - 1 && state.deletions === (gone?.digest ?? null);
  return isNew ? { is: 'unchanged' } : { is: 'delta', after };
}

/** Whether a table was loaded from exactly what is published now. Throws `storage` where what is published is older. */
export function isLoadedFrom(table: PublishedTable, { comment }: WarehouseTable): boolean {
  const state = stateOf(comment);
  if (state !== null) refuseOlder(table, state);
  return state?.digest === table.newest.digest;
}

/** Whether a table was loaded from the mirror that has this ledger. */
export function isLoadedBy(ledger: string, { comment }: WarehouseTable): boolean {
  return stateOf(comment)?.ledger === ledger;
}

/** Older files can name people as missing who were erased since, or bring them back. */
function refuseOlder({ dataset, newest }: PublishedTable, { seq, epoch }: LoadedState): void {
  if (seq > newest.seq || epoch > newest.epoch)
    throw new AppError(`the published files of ${dataset} are older than what the warehouse was loaded with`, {
      code: 'storage',
      hint: `they can hold people who were erased since: run \`analytics-mirror reconcile\` and \`analytics-mirror export\`; if this is the right data folder, drop the table and load again`,
    });
}

function stateOf(comment: string | null): LoadedState | null {
  if (!comment?.startsWith(mark)) return null;
  return LoadedState.safeParse(readJson(comment.slice(mark.length))).data ?? null;
}

/** Whether a table has these columns and no others, by name and type. ClickHouse has keys that cannot be null. */
export function hasColumns(
  { columns }: WarehouseTable,
  wanted: readonly LoadedColumn[],
  types: Dialect['types'],
): boolean {
  const isOf = (type: string, column?: string): boolean => column === type || `Nullable(${column})` === type;
  return columns.size === wanted.length && wanted.every(({ name, type }) => isOf(types[type], columns.get(name)));
}
