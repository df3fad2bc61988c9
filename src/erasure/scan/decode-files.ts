import { createReadStream, fstatSync, readFileSync, readSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { sha256File } from '../../core/digest.ts';
import { AppError } from '../../core/errors.ts';
import { readWholeFile, wholeFileBytesMax } from '../../core/folder.ts';
import { readJson } from '../../core/exact-json.ts';
import { openFile } from '../../core/open-file.ts';
import type { Database } from '../../mirror/database.ts';
import { readEveryRow } from '../../mirror/read-rows.ts';
import { publishedFileAt, publishedFilesIn } from '../../snapshot/published-files.ts';
import { isTableFile, isTablePath, manifestWords } from '../../snapshot/iceberg/table-content.ts';
import { columnBytesIn, readParquetRows, type ParquetReader } from '../../snapshot/read-parquet.ts';
import type { RowJudge } from './judge-rows.ts';
import type { SoughtRows } from './sought-rows.ts';
import { leavesOf } from './identity-index.ts';
import { isOwnPlace } from './known-formats.ts';
import { fixedWords, originOf, type RowOrigin } from './mirror-tables.ts';
import { mirrorPlace } from './scan-task.ts';
import type { ListedFile } from './search-files.ts';

const feedDataset = 'deletions';
const footerBytesMax = 64 << 20;
/** The words with which DuckDB signs the files that it writes. */
const signatures = /duckdb_schema|DuckDB version v\d+\.\d+\.\d+ \(build [0-9a-f]+\)/g;

/** So many rows are decoded before others have a turn. */
const batchRows = 1000;

/** Decodes the rows of the mirror, those sought or all. Yields how many, after each batch. Throws SQLite's own errors. */
export function* decodeMirror(db: Database, judge: RowJudge, sought?: SoughtRows): Generator<number> {
  let rows = 0;
  judge.takeFixedWords(mirrorPlace, fixedWords);
  for (const { table, columns, values } of readEveryRow(db, sought?.inMirror)) {
    judge.takeRow({ file: mirrorPlace, dataset: table, origin: originOf(table), columns, values });
    rows += 1;
    if (rows % batchRows === 0) yield batchRows;
  }
  yield rows % batchRows;
}

/** Whether a file is decoded as Parquet. */
export function isParquet({ place }: ListedFile): boolean {
  return place.endsWith('.parquet');
}

/**
 * Takes the words of the format in a file that is where an Iceberg table has a manifest, or a list of manifests. All its bytes are
 * searched besides. Throws as a read of the file.
 */
export function takeTableWords({ path, place }: ListedFile, judge: RowJudge): void {
  const published = publishedFileAt(place);
  if (published && isTableFile(published) && place.endsWith('.avro'))
    judge.takeFixedWords(place, manifestWords(readWholeFile(path).toString()));
}

/** Whether a file is decoded as JSON: one value, or one for each line. */
export function isJson({ place }: ListedFile): boolean {
  return /\.jsonl?$/.test(place);
}

/**
 * Decodes the rows of a Parquet file, those sought or all; only parts that a manifest names may stay. Yields how many, after each
 * batch. Throws `storage`, also for a published file with bytes that no column has: a page that no reader finds could hold anybody.
 */
export async function* decodeParquet(
  reader: ParquetReader,
  dataDir: string,
  { path, place }: ListedFile,
  judge: RowJudge,
  sought?: SoughtRows,
): AsyncGenerator<number> {
  const { dataset, origin } = partOf(dataDir, place);
  const { footer, size } = readFooter(path);
  judge.takeFixedWords(place, footer.toString('latin1').match(signatures) ?? []);
  const published = publishedFileAt(place);
  const filter = origin === 'rightful' ? sought?.inParquet(dataset) : undefined;
  const key = filter && `${dataset} ${await sha256File(path)}`;
  const emptyColumns = key && sought?.emptyParts.get(key);
  if (emptyColumns) {
    judge.takeRow({ file: place, dataset, origin, columns: [''], values: [emptyColumns] });
    yield 0;
    return;
  }
  let rowsRead = 0;
  let names: readonly string[] = [];
  for await (const { columns, rows: all } of readParquetRows(reader, path, filter)) {
    const isOwn = isPlaceOfRow(place, columns);
    const rows = all.filter((row) => !isOwn(row));
    judge.takeFixedWords(place, [...new Set(all.filter(isOwn).map(([file]) => file as string))]);
    // The file holds the names of its columns too.
    if (origin === 'rightful') judge.takeRow({ file: place, dataset, origin, columns: [''], values: [columns] });
    for (const values of rows) judge.takeRow({ file: place, dataset, origin, columns, values });
    names = columns;
    rowsRead += all.length;
    yield rows.length;
  }
  if (published && (await columnBytesIn(reader, path)) !== size - footer.length - magicBytes)
    throw new AppError('bytes of the file belong to no column', { code: 'storage' });
  if (key && rowsRead === 0) sought?.emptyParts.set(key, names);
}

/** Tells of the rows of a file whether they say which rows readers of a table pass over: a path of this program's, and a number. */
function isPlaceOfRow(place: string, columns: readonly string[]): (row: readonly unknown[]) => boolean {
  const published = publishedFileAt(place);
  const canBe = published !== undefined && isTableFile(published) && String(columns) === 'file_path,pos';
  return ([file]) => canBe && isTablePath(file);
}

/** The beginning of a Parquet file, and its end: the footer's length between two marks. */
const magicBytes = 12;

/** The values of a Parquet file that no manifest names. Their rows vouch for nothing, and are searched as other bytes are. */
export async function* readOtherValues(
  reader: ParquetReader,
  dataDir: string,
  { path, place }: ListedFile,
): AsyncGenerator<Uint8Array> {
  if (partOf(dataDir, place).origin !== 'other') return;
  for await (const { columns, rows } of readParquetRows(reader, path)) {
    const isOwn = isPlaceOfRow(place, columns);
    for (const row of rows.filter((one) => !isOwn(one))) {
      const texts: string[] = [];
      for (const value of row)
        if (ArrayBuffer.isView(value)) yield Buffer.from(value.buffer, value.byteOffset, value.byteLength);
        else for (const leaf of leavesOf('', '', value)) texts.push(String(leaf.value));
      yield Buffer.from(texts.join('\0'));
    }
  }
}

function partOf(dataDir: string, place: string): { dataset: string; origin: RowOrigin } {
  const part = publishedFileAt(place);
  if (!part) return { dataset: '', origin: 'other' };
  const { dataset } = part;
  try {
    const { files } = publishedFilesIn(dataDir).readManifest(part);
    const isNamed = files.some((file) => file.name === part.name);
    const origin = dataset === feedDataset ? 'feed' : 'rightful';
    return { dataset, origin: isNamed ? origin : 'other' };
  } catch (error) {
    // The manifest is reported as unreadable by itself.
    if (error instanceof AppError) return { dataset, origin: 'other' };
    throw error;
  }
}

/**
 * Decodes a JSON file, of one value or of one on each line. A line that is no JSON is taken as a text: the file is not this
 * program's, and its bytes are searched as those of any other file. Throws the system's error, and `storage` when a file that
 * this program writes is not JSON.
 */
export async function decodeJson({ path, place }: ListedFile, judge: RowJudge): Promise<void> {
  const isFeed = publishedFileAt(place)?.dataset === feedDataset;
  const isWhole = place.endsWith('.json');
  const isLarge = isWhole && statSync(path).size > jsonBytesMax;
  // A report of this program has a line for each value. In one line of another file, a short identifier could be missed.
  if (isLarge && !place.startsWith('reports/')) throw tooLong('the file', jsonBytesMax);
  const whole = isWhole && !isLarge ? readJson(readFileSync(path, 'utf8')) : undefined;
  if (whole !== undefined) judge.takeJson(place, whole, isFeed);
  else if (isOwnPlace(place)) throw notJson();
  else
    for await (const line of createInterface({ input: boundedLines(createReadStream(path)), crlfDelay: Infinity }))
      if (line !== '') judge.takeJson(place, readJson(line) ?? line, isFeed);
}

/** The bytes of a file of lines. Throws `storage` at a line that is too long to be taken as one. */
function boundedLines(bytes: Readable): Readable {
  const chunks = async function* (): AsyncGenerator<Buffer> {
    let length = 0;
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      const last = chunk.lastIndexOf(10);
      if (length + (last === -1 ? chunk.length : chunk.indexOf(10)) > wholeFileBytesMax)
        throw tooLong('a line', wholeFileBytesMax);
      length = last === -1 ? length + chunk.length : chunk.length - last - 1;
      yield chunk;
    }
  };
  return Readable.from(chunks(), { objectMode: false });
}

/** A larger value takes more memory than a scan may have. */
const jsonBytesMax = 4 * wholeFileBytesMax;

function tooLong(what: string, bytesMax: number): AppError {
  return new AppError(`${what} has more than ${bytesMax} bytes`, { code: 'storage' });
}

/** Decodes one line of a JSON lines file. Throws `storage` when it is not JSON. */
export function decodeJsonLine(place: string, line: string, judge: RowJudge): void {
  if (line === '') return;
  const value = readJson(line);
  if (value === undefined) throw notJson();
  judge.takeJson(place, value);
}

function notJson(): AppError {
  return new AppError('the file is not JSON', { code: 'storage' });
}

/** The footer of a Parquet file, and the size of the file. */
function readFooter(path: string): { footer: Buffer; size: number } {
  using file = openFile(path);
  const { size } = fstatSync(file.descriptor);
  const end = Buffer.alloc(8);
  if (size < magicBytes) return { footer: Buffer.alloc(0), size };
  readSync(file.descriptor, end, 0, 8, size - 8);
  const length = Math.min(end.readUInt32LE(0), size - magicBytes, footerBytesMax);
  const footer = Buffer.alloc(length);
  readSync(file.descriptor, footer, 0, length, size - 8 - length);
  return { footer, size };
}
