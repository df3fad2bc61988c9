import { randomUUID } from 'node:crypto';
import { linkSync, lstatSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { draftLivesMs, removeOldDrafts } from '../core/atomic-file.ts';
import { systemClock } from '../core/clock.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { removeLeft } from '../core/folder.ts';
import { openDuckDb, type DuckDb, type DuckDbLimits } from '../snapshot/duckdb.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import { failureOf, storageError } from '../snapshot/storage-error.ts';
import type { WarehousePlace } from './address.ts';
import { attachedAs, openDuckDbFile } from './duckdb-file.ts';
import type { Reader } from './duckdb-reader.ts';
import { openPostgres } from './postgres.ts';
import type { Warehouse } from './warehouse.ts';

const memoryMaxMb = 1024;

/** Opens the published files and a warehouse, and closes them when `use` settles. Throws as the warehouse does, and the signal's reason. */
export async function withWarehouse<T>(
  place: WarehousePlace,
  {
    published,
    isReadOnly,
    signal,
  }: { published: Pick<PublishedFiles, 'localFolder'>; isReadOnly: boolean; signal: AbortSignal },
  use: (warehouse: Warehouse, reader: Reader) => Promise<T>,
): Promise<T> {
  const limits = { folders: [published.localFolder], memoryMaxMb, threads: 2, signal };
  using database = await (place.engine === 'duckdb' ? openFile(place.at, isReadOnly, limits) : openDuckDb(limits));
  const { connection: reader } = database;
  try {
    await using warehouse = await open(place, reader, signal);
    return await use(warehouse, reader);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

async function openFile(path: string, isReadOnly: boolean, limits: DuckDbLimits): Promise<DuckDb> {
  try {
    if (!isReadOnly) removeOldDrafts(dirname(path), systemClock.now() - draftLivesMs, basename(path));
    if (!isReadOnly && lstatSync(path, { throwIfNoEntry: false }) === undefined) await makeFile(path, limits);
    return await openDuckDb({ ...limits, attached: { as: attachedAs, path, isReadOnly } });
  } catch (error) {
    const reason = failureOf(error);
    if (reason.startsWith('the disk')) throw storageError(`open ${path}`, error, `the volume of ${path}`);
    throw new AppError(`the file of the warehouse cannot be opened: ${path} (${reason})`, {
      code: 'storage',
      hint: 'close it where else it is open; load first, into a folder that can be written; files of a newer DuckDB than 1.5 cannot be read',
      cause: error,
    });
  }
}

/**
 * Makes an empty file beside its place, and puts it there where nothing stands by then. DuckDB does not open a file again that it was
 * killed in making. On a disk without links it makes the file in its place all the same.
 */
async function makeFile(path: string, limits: DuckDbLimits): Promise<void> {
  const draft = `${path}.draft-${randomUUID()}`;
  try {
    (await openDuckDb({ ...limits, attached: { as: attachedAs, path: draft, isReadOnly: false } }))[Symbol.dispose]();
    linkSync(draft, path);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
  } finally {
    removeLeft(draft);
  }
}

async function open(place: WarehousePlace, reader: Reader, signal: AbortSignal): Promise<Warehouse> {
  if (place.engine === 'postgres') return openPostgres(place, reader, signal);
  if (place.engine === 'duckdb') return openDuckDbFile(place, reader);
  // Its HTTP client is loaded for it alone.
  const { openClickHouse } = await import('./clickhouse.ts');
  return openClickHouse(place, reader, signal);
}
