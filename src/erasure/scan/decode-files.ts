import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { AppError } from '../../core/errors.ts';
import { publishedFileAt, publishedFilesIn } from '../../snapshot/published-files.ts';
import { readParquetRows } from '../../snapshot/read-parquet.ts';
import type { Decoder, RowOrigin } from './judge-rows.ts';
import type { ListedFile } from './list-files.ts';
import { footerWords } from './known-formats.ts';
import { readJson } from '../../core/exact-json.ts';

const feedDataset = 'deletions';

/** Whether a file is decoded as Parquet. */
export function isParquet({ place }: ListedFile): boolean {
  return place.endsWith('.parquet');
}

/** Whether a file is decoded as JSON: one value, or one for each line. */
export function isJson({ place }: ListedFile): boolean {
  return /\.jsonl?$/.test(place);
}

/**
 * Decodes every row of a Parquet file. Only parts that their snapshot's manifest names remain rightly. Returns the number of
 * rows. Throws `storage` when it cannot be read.
 */
export async function decodeParquet(
  dataDir: string,
  { path, place }: ListedFile,
  decoder: Decoder,
): Promise<number> {
  const { dataset, origin } = partOf(dataDir, place);
  let count = 0;
  decoder.takeOwnWords(place, footerWords(path));
  for await (const { columns, rows } of readParquetRows(path)) {
    // The file holds the names of its columns too.
    if (count === 0 && origin === 'rightful')
      decoder.takeRow({ file: place, dataset, origin, columns: [''], values: [columns] });
    count += rows.length;
    for (const values of rows) decoder.takeRow({ file: place, dataset, origin, columns, values });
  }
  return count;
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

/** Decodes a JSON file. Throws the system's error, and `storage` when it is not JSON. */
export async function decodeJson({ path, place }: ListedFile, decoder: Decoder): Promise<void> {
  const isFeed = publishedFileAt(place)?.dataset === feedDataset;
  if (place.endsWith('.json')) decoder.takeJson(place, parse(readFileSync(path, 'utf8')), isFeed);
  else
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity }))
      if (line !== '') decoder.takeJson(place, parse(line), isFeed);
}

/** Decodes one line of a JSON lines file. Throws `storage` when it is not JSON. */
export function decodeJsonLine(place: string, line: string, decoder: Decoder): void {
  if (line !== '') decoder.takeJson(place, parse(line), false);
}

function parse(text: string): unknown {
  const value = readJson(text);
  if (value === undefined) throw new AppError('the file is not JSON', { code: 'storage' });
  return value;
}
