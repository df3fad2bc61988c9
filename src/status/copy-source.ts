import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openBucket, type ObjectVersion } from '../bucket/bucket.ts';
import { openMeasuring } from '../client/measure-at.ts';
import { httpUrlProblem } from '../config/addresses.ts';
import { Settings } from '../config/settings.ts';
import { systemClock } from '../core/clock.ts';
import { measureFile, type Measured } from '../core/digest.ts';
import { AppError, usageError } from '../core/errors.ts';
import { isRegularFile, pathBelow } from '../core/folder.ts';
import { retry } from '../core/retry.ts';
import { storageError } from '../snapshot/storage-error.ts';

/** The files of a copy by their paths below its place, with slashes. `older`: those with another version than the one that is read. */
type CopyListing = { paths: string[]; older: string[] };

/** Where the copy of a consumer lies. */
export type CopySource = AsyncDisposable & {
  /** What lies there; null where the place cannot be listed, but asked for a name only. */
  list(): Promise<CopyListing | null>;
  /** Measures a file; of one that has more than `bytesMax` bytes, little more than that. Undefined where there is none. */
  measure(path: string, bytesMax: number): Promise<Measured | undefined>;
};

/** No part has the number 0. */
const nameOfNone = 'persons/00000000T000000.000Z/part-00000.parquet';

/**
 * The copy at a place: a folder, `s3://bucket/prefix` (reached as `export.s3` says), or `https://host/path`. Opens nothing yet.
 * Throws `usage` for a place that is none of them.
 */
export async function openCopySource(place: string, settings: Settings, signal: AbortSignal): Promise<CopySource> {
  if (place.startsWith('s3://')) return openS3Source(place, settings, signal);
  return /^[a-z][\w+.-]*:\/\//i.test(place) ? openWebSource(place, settings, signal) : folderSource(place);
}

/** The copy in a local folder. */
export function folderSource(folder: string): CopySource {
  return {
    list: () => Promise.resolve({ paths: filesBelow(folder), older: [] }),
    measure: async (path, bytesMax) => {
      const from = join(folder, path);
      if (!isRegularFile(from)) return undefined;
      return measureFile(from, bytesMax).catch((error: unknown) => {
        throw storageError(`read ${from}`, error);
      });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function openS3Source(place: string, { export: { s3 }, retry: limits }: Settings, signal: AbortSignal) {
  const { data: location, error } = Settings.shape.export.shape.destination.safeParse(place);
  if (!location) throw notAPlace(place, error?.issues[0]?.message ?? 'is no bucket');
  const bucket = await openBucket({ location, ...s3 }, { clock: systemClock, retry: limits, signal });
  return {
    list: async () => {
      const versions = await bucket.listVersions();
      const newest = new Map(versions.flatMap((one) => (one.isLatest ? [[one.path, one] as const] : [])));
      const isOther = ({ path, etag, isMarker, isLatest }: ObjectVersion): boolean =>
        !isMarker && !isLatest && newest.get(path)?.etag !== etag;
      return {
        paths: [...newest.values()].flatMap(({ path, isMarker }) => (isMarker ? [] : [path])),
        older: [...new Set(versions.filter(isOther).map(({ path }) => path))],
      };
    },
    measure: (path: string, bytesMax: number) => bucket.read(path, bytesMax),
    [Symbol.asyncDispose]: () => Promise.resolve(bucket[Symbol.dispose]()),
  };
}

function openWebSource(place: string, { retry: limits }: Settings, signal: AbortSignal): CopySource {
  const problem = httpUrlProblem(place);
  if (problem !== null) throw notAPlace('the address', problem);
  const root = new URL(place);
  if (root.search !== '' || root.hash !== '') throw notAPlace('the address', 'must not hold a query or a fragment');
  if (!root.pathname.endsWith('/')) root.pathname += '/';
  const measuring = openMeasuring();
  const measureAt = (path: string, bytesMax: number): Promise<Measured | undefined> =>
    retry(() => measuring.measure(new URL(path, root), bytesMax, signal), limits, {
      clock: systemClock,
      random: Math.random,
      signal,
    });
  return {
    list: async () => {
      if ((await measureAt(nameOfNone, 0)) === undefined) return null;
      throw new AppError(`${root.href} has an answer also for a file that cannot be there`, {
        code: 'service',
        hint: 'let the server answer 404 for what is not there: otherwise nothing shows what is missing and what is old',
      });
    },
    measure: measureAt,
    [Symbol.asyncDispose]: () => measuring[Symbol.asyncDispose](),
  };
}

function notAPlace(place: string, problem: string): AppError {
  return usageError(
    `${place} ${problem}`,
    'give the folder, the s3://bucket/prefix or the https:// address below which the copy lies',
  );
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => pathBelow(folder, entry));
  } catch (error) {
    throw new AppError(`cannot read the folder ${folder}`, {
      code: 'usage',
      hint: 'give the folder in which the copy of the published files lies',
      cause: error,
    });
  }
}
