import { dirname, join } from 'node:path';
import { sha256File } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { makeFolder } from '../core/folder.ts';
import { syncToDisk } from '../core/open-file.ts';
import { inBatches } from '../core/batches.ts';
import { checkPartSize, listPublishedParts } from '../snapshot/published-parts.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import type { Bucket, Lock, NewObject, ObjectFacts, ObjectVersion } from './bucket.ts';
import { judgePointer, spellPublisher, type Publisher } from './publisher.ts';
import { compare, inOrder, isOurs, type Comparison, type LocalFile } from './follow-plan.ts';

/** What made bucket and folder equal. `foreign`: objects below the prefix that this program does not know, and leaves. */
export type FollowResult = {
  /** The published files, each of which is in the bucket. */
  files: number;
  put: number;
  removed: number;
  aborted: number;
  foreign: string[];
  /** What a lock keeps, and when it was put. */
  locked: Locked[];
};

type Locked = Lock & Pick<ObjectVersion, 'path' | 'putAt'>;

/**
 * What a bucket is compared with and follows. `publisher`: the ledger that alone may publish below the prefix. `seen`: what was seen of
 * objects before; they are not asked for again, and others that were seen are added.
 */
export type FollowContext = {
  published: PublishedFiles;
  bucket: Bucket;
  publisher: Publisher;
  signal: AbortSignal;
  seen: Seen;
};

/** What stands below the prefix of a bucket, beside the files of the folder. */
export type BucketDifference = Comparison & { uploads: { path: string; uploadId: string }[]; foreign: string[] };

const pointer = 'CURRENT.json';
const partOfSnapshot = /\/part-\d{5,}\.parquet$/;
const atOnce = 8;
// Put and remove; remove what was replaced; see that all is equal; and once more for what others did meanwhile.
const roundsMax = 4;
const outrunBy = 'bucket_outrun';

/**
 * Makes a bucket equal to the published files: each file once, in one version, and no upload. New files come first, pointers
 * last, by conditions, and only then is removed what the folder does not have. Killed or failed at any request, readers find
 * what was published or what now is, and the next call goes on. Nothing else may write published files meanwhile.
 * Resolves when a last look has seen them equal but for what is locked. Throws `storage` for a damaged folder, `busy` where
 * another publisher was faster, `refused` where the prefix is another's or was published by a newer copy of this folder, and what `Bucket` throws.
 */
export async function followFolder(following: FollowContext): Promise<FollowResult> {
  const { bucket, signal } = following;
  const files = await listLocalFiles(following);
  const put: NewObject[] = [];
  const locks = new Map<string, Locked>();
  let removed = 0;
  let aborted = 0;
  for (let round = 1; round <= roundsMax; round += 1) {
    const standing = await look(following, files);
    const { missing, different, uploads, foreign } = standing;
    const superfluous = standing.superfluous.filter((version) => !locks.has(nameOf(version)));
    if (missing.length + different.length + superfluous.length + uploads.length === 0) {
      await readBack(following, put);
      return { files: files.length, put: put.length, removed, aborted, foreign, locked: [...locks.values()] };
    }
    put.push(...(await putFiles(following, standing)));
    await inBatches(uploads, { atOnce, signal }, (upload) => bucket.abortUpload(upload));
    aborted += uploads.length;
    for (const group of inOrder(superfluous).toReversed())
      await inBatches(group, { atOnce, signal }, async (version) => {
        const lock = await bucket.removeVersion(version);
        if (lock) locks.set(nameOf(version), { path: version.path, putAt: version.putAt, ...lock });
        else removed += 1;
      });
  }
  throw outrun(bucket);
}

function nameOf({ path, versionId, etag }: ObjectVersion): string {
  return JSON.stringify([path, versionId, etag]);
}

/** Reads back the files that were put: the checksum that a store names does not prove its bytes. */
async function readBack({ bucket, signal }: FollowContext, put: readonly NewObject[]): Promise<void> {
  await inBatches(put, { atOnce: 2, signal }, async ({ path, bytes, sha256 }) => {
    if ((await bucket.read(path, bytes)).sha256 === sha256) return;
    throw new AppError(`${bucket.location} holds other bytes of ${path} than were put there`, {
      code: 'service',
      hint: 'see who else writes there, and what the store does with what it takes',
    });
  });
}

/** Compares a bucket with the published files; `standing` are those that it has. Changes nothing. */
export async function compareWithFolder(
  asked: Omit<FollowContext, 'seen'>,
): Promise<BucketDifference & { files: number; standing: LocalFile[] }> {
  const following = { ...asked, seen: new Map() };
  const files = await listLocalFiles(following);
  const found = await look(following, files);
  const others = new Set([...found.missing, ...found.different].map(({ path }) => path));
  return { files: files.length, standing: files.filter(({ path }) => !others.has(path)), ...found };
}

/** The published files, of which none may be damaged: what the folder has lost must not be removed elsewhere. */
async function listLocalFiles({ published, signal }: FollowContext): Promise<LocalFile[]> {
  const digests = new Map<string, string>();
  for (const part of listPublishedParts(published)) {
    checkPartSize(published, part);
    digests.set(`${part.dataset}/${part.snapshotId}/${part.name}`, part.sha256);
  }
  // A part that no manifest names is what a kill has left.
  const paths = published
    .listPaths()
    .filter(({ path }) => isOurs(path) && (digests.has(path) || !partOfSnapshot.test(path)));
  return inBatches(paths, { atOnce, signal }, async (file) => ({
    ...file,
    sha256: digests.get(file.path) ?? (await sha256File(file.from)),
  }));
}

/** What was seen of objects, by path, version and ETag: one that is written anew has another tag. */
export type Seen = Map<string, ObjectFacts>;

async function look(following: FollowContext, files: readonly LocalFile[]): Promise<BucketDifference> {
  const { bucket, publisher, signal, seen } = following;
  const versions = await bucket.listVersions();
  const uploads = await bucket.listUploads();
  const bytesOf = new Map(files.map(({ path, bytes }) => [path, bytes]));
  const alike = versions.filter(
    ({ path, bytes, isLatest, isMarker }) => isLatest && !isMarker && (bytesOf.get(path) === bytes || path === pointer),
  );
  const facts = new Map<string, ObjectFacts>();
  const now: Seen = new Map();
  await inBatches(alike, { atOnce, signal }, async (version) => {
    const { path } = version;
    const found = seen.get(nameOf(version)) ?? (await bucket.describe(path));
    if (!found) return;
    // Some stores keep no checksum.
    const whole = { ...found, sha256: found.sha256 ?? (await bucket.read(path, bytesOf.get(path))).sha256 };
    // The same pointer can be put again, and then carries something else.
    if (found.etag === version.etag && path !== pointer) now.set(nameOf(version), whole);
    facts.set(path, whole);
  });
  seen.clear();
  for (const each of now) seen.set(...each);
  const pointing = facts.get(pointer);
  refuseOthers(following, pointing);
  if (pointing && pointing.publisher !== spellPublisher(publisher)) facts.set(pointer, { ...pointing, sha256: null });
  return {
    ...compare(files, versions, facts),
    uploads: uploads.filter(({ path }) => isOurs(path)),
    foreign: [...new Set(versions.flatMap(({ path }) => (isOurs(path) ? [] : [path])))].toSorted(),
  };
}

/** Refuses a bucket whose pointer another ledger has put, or a newer copy of this one. */
function refuseOthers({ bucket, publisher }: FollowContext, pointing: ObjectFacts | undefined): void {
  const whose = judgePointer(publisher, pointing?.publisher ?? null);
  if (whose === 'another')
    throw new AppError(`${bucket.location} belongs to another data folder`, {
      code: 'refused',
      hint: 'set export.destination to a prefix of its own; or empty this one, versions included, if its publisher is gone',
      finding: 'bucket_of_another',
    });
  if (whose === 'ahead')
    throw new AppError(
      `${bucket.location} was published by a newer copy of this data folder: this one is an older copy`,
      {
        code: 'refused',
        hint: 'put the newest copy of the data folder back, ledger/ included; if it is lost, docs/operations/restore.md says what to do first',
        finding: 'bucket_ahead',
      },
    );
}

/**
 * Puts what is missing or different, in order, pointers last. Returns what it has put. Where another publisher was faster, what
 * it has added is removed again: readers cannot have seen it.
 */
async function putFiles(following: FollowContext, { missing, different }: Comparison): Promise<NewObject[]> {
  const { bucket, publisher, signal } = following;
  const done: NewObject[] = [];
  try {
    for (const group of inOrder([...missing, ...different]))
      await inBatches(group, { atOnce, signal }, async (object) => {
        if (await bucket.put(object, spellPublisher(publisher))) done.push(object);
        // After an answer that was lost, a second attempt finds the first one's object.
        else if ((await bucket.describe(object.path))?.sha256 !== object.sha256) throw outrun(bucket);
      });
    return done;
  } catch (error) {
    const isOutrun = error instanceof AppError && error.finding === outrunBy;
    if (isOutrun && judgePointer(publisher, (await bucket.describe(pointer))?.publisher ?? null) !== 'own')
      await withdraw(following, new Set(done.filter(({ over }) => over === null).map(({ path }) => path)));
    throw error;
  }
}

async function withdraw({ bucket, signal }: FollowContext, paths: ReadonlySet<string>): Promise<void> {
  const added = (await bucket.listVersions()).filter(({ path }) => paths.has(path));
  for (const group of inOrder(added).toReversed())
    await inBatches(group, { atOnce, signal }, (version) => bucket.removeVersion(version));
}

function outrun({ location }: Bucket): AppError {
  return new AppError(`another run has published to ${location} meanwhile`, {
    code: 'busy',
    hint: 'let only one data folder publish there, and try again',
    finding: outrunBy,
  });
}

/**
 * Fetches the published files that a bucket has into a folder without any, pointers last. Whether they are those of the ledger is seen
 * by what holds the folder against it, as after a restore. Nothing else may write to either meanwhile.
 */
export async function fetchPublished(bucket: Bucket, published: PublishedFiles, signal: AbortSignal): Promise<void> {
  const standing = (await bucket.listVersions()).filter(
    ({ path, isLatest, isMarker }) => isLatest && !isMarker && isOurs(path),
  );
  for (const group of inOrder(standing))
    await inBatches(group, { atOnce: 4, signal }, async ({ path, bytes }) => {
      const to = join(published.localFolder, path);
      makeFolder(dirname(to));
      if (await bucket.fetch(path, to, bytes)) syncToDisk(to);
    });
}
