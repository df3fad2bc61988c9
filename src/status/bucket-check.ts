import { visitCatalog } from '../bucket/catalog.ts';
import { compareWithFolder } from '../bucket/follow.ts';
import { openBucket, type Destination } from '../bucket/bucket.ts';
import { destinationOf } from '../bucket/keep.ts';
import { publisherIn, spellPublisher } from '../bucket/publisher.ts';
import { systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { countedText } from '../core/words.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../mirror/database.ts';
import { listDestinations } from '../mirror/destinations.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import type { Attempt, Check, Found } from './check.ts';

const namedMax = 3;

/** Checks the bucket that follows the published files, and the catalog; names buckets that were left. `openReader`: null without a mirror. */
export async function checkBuckets(
  attempt: Attempt,
  settings: Settings,
  openReader: (() => Database) | null,
  signal: AbortSignal,
): Promise<Check[]> {
  const destination = destinationOf(settings.export);
  const left = knownDestinations(openReader).filter(({ location }) => location !== settings.export.destination);
  return [
    ...(destination ? [await attempt('bucket', () => checkBucket(destination, settings, signal))] : []),
    ...(settings.export.catalog.uri === null ? [] : [await attempt('catalog', () => checkCatalog(settings, signal))]),
    ...left.map(({ location }): Check => ({
      check: 'bucket',
      state: 'warning',
      detail: `${location} may still hold published files, and export.destination does not name it`,
      fix: 'name it there again; or delete what is below it, versions included, and run `analytics-mirror reconcile`',
    })),
  ];
}

async function checkCatalog(settings: Settings, signal: AbortSignal): Promise<Found> {
  const tools = { published: publishedFilesIn(settings.dataDir), clock: systemClock, signal };
  const retry = { ...settings.retry, attemptsMax: 2 };
  const report = await visitCatalog({ ...tools, settings: { ...settings, retry } }, 'look');
  if (report?.error) throw report.error;
  const { uri, told } = report ?? { uri: '', told: [] };
  if (told.length === 0) return `${uri} leads to the tables as they are published`;
  const fix = 'run `analytics-mirror reconcile`, which registers the tables there again';
  return { state: 'warning', detail: `${uri} leads to older tables, or none: ${told.join(', ')}`, fix };
}

function knownDestinations(openReader: (() => Database) | null): ReturnType<typeof listDestinations> {
  try {
    return openReader ? listDestinations(openReader()) : [];
  } catch {
    // The check of the mirror says what is wrong with it.
    return [];
  }
}

/**
 * Compares a bucket with the published files, and tries what an erasure will need: listing and deleting versions, listing
 * uploads, and writes that keep to their conditions. What it tries leaves the bucket as it is.
 */
export async function checkBucket(
  destination: Destination,
  { dataDir, retry }: Settings,
  signal: AbortSignal,
): Promise<Found> {
  using bucket = await openBucket(destination, { clock: systemClock, retry: { ...retry, attemptsMax: 2 }, signal });
  const published = publishedFilesIn(dataDir);
  const publisher = publisherIn(dataDir);
  const { files, standing, missing, different, superfluous, uploads, foreign } = await compareWithFolder({
    published,
    bucket,
    publisher,
    signal,
  });
  await bucket.removeVersion({ path: 'version-that-is-not-there', versionId: 'null', isMarker: true, putAt: '' });
  // A manifest that is equal on both sides: a store that takes it again has only what it had.
  const equal = standing.find(({ path }) => path.endsWith('/manifest.json'));
  if (equal && (await bucket.put({ ...equal, over: null }, spellPublisher(publisher))))
    throw new AppError(`${bucket.location} takes a file over one that is there, although it was asked not to`, {
      code: 'service',
      hint: 'use a store that keeps to If-None-Match and If-Match: two publishers would overwrite each other',
    });
  const lock = await bucket.describeLock();
  const locks = lock === null ? '' : `; Object Lock (${lock}) keeps old versions of erased people until it ends`;
  const differs = [
    named('missing', missing),
    named('different', different),
    named('old or stray', superfluous),
    uploads.length === 0 ? '' : countedText(uploads.length, 'unfinished upload'),
  ].filter(Boolean);
  const told = `${countedText(files, 'file')}, versions can be listed and deleted, conditions are kept${locks}`;
  const others = named(
    'not of this program',
    foreign.map((path) => ({ path })),
  );
  if (differs.length > 0)
    return {
      state: 'warning',
      detail: `differs from the published files: ${differs.join(', ')}; ${told}`,
      fix: 'run `analytics-mirror reconcile`, which makes it equal, or says what a lock keeps',
    };
  if (others === '') return `${bucket.location} is equal to the published files: ${told}`;
  const fix = 'look at them: this program neither reads nor removes them, and they may hold erased people';
  return { state: 'warning', detail: `${told}; ${others}`, fix };
}

function named(what: string, objects: readonly { path: string }[]): string {
  if (objects.length === 0) return '';
  const paths = objects.slice(0, namedMax).map(({ path }) => path);
  return `${objects.length} ${what} (${paths.join(', ')}${objects.length > namedMax ? ', …' : ''})`;
}
