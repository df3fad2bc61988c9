import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Settings } from '../config/settings.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { sha256File } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Database } from '../mirror/database.ts';
import {
  forgetDestination,
  type KnownDestination,
  listDestinations,
  noteBehind,
  hasAnswered,
  noteAnswered,
  noteDestination,
  noteEqual,
  noteObjects,
  readObjects,
} from '../mirror/destinations.ts';
import { transact } from '../mirror/transact.ts';
import { addTargetToFenced } from '../mirror/erasure-requests.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import { openBucket, type Bucket, type Destination, type ObjectFacts } from './bucket.ts';
import { compareWithFolder, followFolder, type FollowResult, type Seen } from './follow.ts';
import { isOurs } from './follow-plan.ts';
import { publisherIn, publisherOf } from './publisher.ts';

/** What a job gives to the bucket. */
export type BucketContext = {
  db: Database;
  published: PublishedFiles;
  settings: Pick<Settings, 'dataDir' | 'export' | 'retry'>;
  clock: Clock;
  signal: AbortSignal;
  ledger: () => Pick<Ledger, 'checkpoint' | 'publishedHeads'>;
};

/** How a bucket followed; `error` where it could not. What was done before an error is not counted. */
export type BucketReport = { destination: string; followed: FollowResult | null; error: AppError | null };

/** What a report adds to the counts of a run. */
export function bucketCounts(report: BucketReport | null): Record<string, number> {
  const { put, removed, locked } = report?.followed ?? {};
  return put === undefined ? {} : { bucketPut: put, bucketRemoved: removed ?? 0, bucketLocked: locked?.length ?? 0 };
}

/** The destination that the settings name; null where they name none. */
export function destinationOf({ destination, s3 }: Settings['export']): Destination | null {
  return destination === null ? null : { location: destination, ...s3 };
}

/**
 * Makes the bucket that the settings name equal to the published files, and sees that a bucket which they named before holds
 * none; null where there never was one. Objects that stand as they were last seen are not asked for again, unless `asksAnew`: so an
 * erasure believes no memory. Trouble with a bucket is reported, not thrown: the folder is published, and the next
 * call goes on.
 */
export async function keepBuckets(context: BucketContext, { asksAnew = false } = {}): Promise<BucketReport | null> {
  const kept = await keepBucket(context, asksAnew);
  const left = await leaveOldBuckets(context);
  return kept?.error || left === null ? kept : { ...left, followed: kept?.followed ?? null };
}

/** Makes the bucket equal to the folder. First adds the bucket to the places that each open request has to reach. */
async function keepBucket(context: BucketContext, asksAnew: boolean): Promise<BucketReport | null> {
  const { db, published, settings, clock, signal, ledger } = context;
  const destination = destinationOf(settings.export);
  if (destination === null) return null;
  const { location } = destination;
  const at = isoTime(clock.now());
  transact(db, () => {
    noteDestination(db, { location, reachedBy: JSON.stringify(destination) }, formerName, at);
    addTargetToFenced(db, 'bucket', at);
  });
  const publisher = publisherOf(settings.dataDir, ledger());
  return reported(context, location, async () => {
    using bucket = await openBucket(destination, { clock, retry: settings.retry, signal });
    if (!hasAnswered(db, location)) {
      await bucket.listUploads();
      noteAnswered(db, location, at);
    }
    const known = asksAnew ? [] : readObjects(db, location);
    const seen: Seen = new Map([...known].map(([object, facts]) => [object, JSON.parse(facts) as ObjectFacts]));
    const followed = await followFolder({ published, bucket, publisher, signal, seen });
    const objects = new Map([...seen].map(([object, facts]) => [object, JSON.stringify(facts)]));
    transact(db, () => noteObjects(db, location, objects));
    return followed;
  });
}

/**
 * Looks at the places that were followed once and are not now. Those that hold nothing of this program any more are forgotten.
 * Returns a report of the first of the others; null where there is none.
 */
async function leaveOldBuckets(context: BucketContext): Promise<BucketReport | null> {
  const { db, settings } = context;
  let first: BucketReport | null = null;
  for (const known of listDestinations(db)) {
    const { location } = known;
    if (location === settings.export.destination) continue;
    const report = await reported(context, location, async () => {
      await mustHoldNone(context, known);
      return null;
    });
    if (report.error) first ??= report;
    else forgetDestination(db, location);
  }
  return first;
}

/** What a place is called where its name leads to another one now. */
function formerName(reachedBy: string): string {
  const { location, endpoint } = JSON.parse(reachedBy) as Destination;
  return `${location} at ${endpoint ?? 'its own address'}`;
}

/** Throws where a place that was followed once still holds published files, or cannot be looked at. */
async function mustHoldNone(context: BucketContext, { location, reachedBy }: KnownDestination): Promise<void> {
  const { settings, clock, signal, published } = context;
  const tools = { clock, retry: settings.retry, signal };
  const former = JSON.parse(reachedBy) as Destination;
  try {
    using bucket = await openBucket(former, tools);
    const versions = await bucket.listVersions();
    if (![...versions, ...(await bucket.listUploads())].some(({ path }) => isOurs(path))) return;
    const now = destinationOf(settings.export);
    // The same bucket by another address of its store shows the very same versions.
    if (now !== null && now.location === former.location) {
      using same = await openBucket(now, tools);
      if (isDeepStrictEqual(versions, await same.listVersions()) && (await isOneStore(bucket, same, published))) return;
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { message, code, hint, retryable } = error;
    throw new AppError(`${location} was followed before, and cannot be looked at: ${message}`, {
      code,
      hint,
      retryable,
      cause: error,
    });
  }
  throw new AppError(`${location} still holds published files, and export.destination no longer names it`, {
    code: 'refused',
    hint: 'set export.destination to it again; or delete what is below it, versions and uploads included',
    finding: 'bucket_left',
  });
}

/** Whether what is put by one address is found by another: a replica, or a store copied with its disk, has the same versions and times. */
async function isOneStore(former: Bucket, now: Bucket, published: PublishedFiles): Promise<boolean> {
  const file = published.listPaths().find((each) => each.path === 'CURRENT.json');
  if (!file) return false;
  const path = `probe-${randomUUID()}`;
  await now.put({ ...file, path, sha256: await sha256File(file.from), over: null }, '');
  try {
    return (await former.describe(path)) !== undefined;
  } finally {
    for (const version of await now.listVersions()) if (version.path === path) await now.removeVersion(version);
  }
}

async function reported(
  { db, clock, signal }: BucketContext,
  destination: string,
  act: () => Promise<FollowResult | null>,
): Promise<BucketReport> {
  try {
    const followed = await act();
    if (followed) noteEqual(db, destination, followed.files, isoTime(clock.now()));
    return { destination, followed, error: null };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    noteBehind(db, destination, error.message, isoTime(clock.now()));
    return { destination, followed: null, error };
  }
}

/** What a reconciliation would do to a bucket: the files that it would put, and the objects that it would remove for good. */
export type BucketPlan = { destination: string; put: string[]; remove: string[] };

/**
 * Plans what makes the bucket equal to the folder once published files have been rewritten (`dataset/snapshot id/name`). Changes
 * nothing; null where no bucket follows. Throws as `compareWithFolder` does.
 */
export async function planBucket(
  { published, settings, clock, signal }: Omit<BucketContext, 'db' | 'ledger'>,
  rewritten: readonly string[],
): Promise<BucketPlan | null> {
  const destination = destinationOf(settings.export);
  if (destination === null) return null;
  using bucket = await openBucket(destination, { clock, retry: settings.retry, signal });
  const publisher = publisherIn(settings.dataDir);
  const compared = await compareWithFolder({ published, bucket, publisher, signal });
  const going = compared.standing.filter(({ path }) => rewritten.includes(path));
  const pathsOf = (items: readonly { path: string }[]): string[] =>
    [...new Set(items.map(({ path }) => path))].toSorted();
  return {
    destination: destination.location,
    put: pathsOf([...compared.missing, ...compared.different]),
    remove: pathsOf([...compared.superfluous, ...compared.uploads, ...going]),
  };
}
