import type { DuckDBConnection } from '@duckdb/node-api';
import { AppError } from '../core/errors.ts';
import { sqlText } from './duckdb.ts';
import type { PublishedPart } from './list-published.ts';
import type { PublishedFiles } from './published-files.ts';

/** Where a part is, and what its manifest says of it. */
export type PartInPlace = Pick<PublishedPart, 'dataset' | 'snapshotId' | 'file' | 'path'>;

/** The error for a part that cannot be read, or is not what was published, so that nobody can tell which persons it holds. */
export function damagedPart({ dataset, snapshotId, file }: PartInPlace, what: string): AppError {
  return new AppError(`the published file ${dataset}/${snapshotId}/${file.name} ${what}`, {
    code: 'storage',
    hint: `restore it from a backup, or export ${dataset} again until this snapshot is retired (export.keep)`,
  });
}

/** The error for a part whose reading failed. The words of the cause are left out: they can quote what the part holds. */
export function unreadablePart(part: PartInPlace, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const kind = cause instanceof Error ? /^[A-Z][A-Za-z ]+ Error/.exec(cause.message)?.[0] : undefined;
  return damagedPart(part, `cannot be read: ${kind ?? 'it failed'}`);
}

/** Throws `storage` when a part is not there, or is not as long as published. */
export function checkPartSize(published: PublishedFiles, part: PartInPlace): void {
  const size = published.sizeOf(part, part.file.name);
  if (size === undefined) throw damagedPart(part, 'is missing');
  if (size !== part.file.bytes)
    throw damagedPart(part, `has ${size} bytes, published were ${part.file.bytes}`);
}

/** Throws `storage` when a part's own footer counts other rows than were published. */
export async function checkPartRows(connection: DuckDBConnection, part: PartInPlace): Promise<void> {
  const footer = await connection.runAndReadAll(
    `SELECT num_rows FROM parquet_file_metadata(${sqlText(part.path)})`,
  );
  const rows = Number(footer.getRows()[0]?.[0]);
  if (rows !== part.file.rows) throw damagedPart(part, `has ${rows} rows, published were ${part.file.rows}`);
}
