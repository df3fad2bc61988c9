import { createWriteStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ObjectVersion as s3Version } from '@aws-sdk/client-s3';
import type { Settings } from '../config/settings.ts';
import { measureStream, type Measured } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { objectLocked } from './bucket-error.ts';
import { sendFile } from './send-file.ts';
import { collectPages, refuseOther } from './list-pages.ts';
import { ask, askUnless, openStore, type BucketTools, type Store } from './store.ts';

/** The place of a bucket, and how it is reached. */
export type Destination = { location: string } & Settings['export']['s3'];

/** A version of an object, or a delete marker. `path` is below the prefix. */
export type ObjectVersion = {
  path: string;
  /** Undefined where the store gives none. */
  versionId: string | undefined;
  isLatest: boolean;
  isMarker: boolean;
  /** Whether it is in an archive, from which nobody can read it. */
  isArchived?: boolean;
  etag: string;
  bytes: number;
  /** When it was put, by the store's clock. */
  putAt: string;
};

/** What an object is. `sha256`: as the store has checked and kept it; null where it has not. `publisher`: as `put` wrote it. */
export type ObjectFacts = { etag: string; sha256: string | null; publisher: string | null };

/** What keeps a version from being deleted; `until` is null where no end is known. */
export type Lock = { until: string | null };

/** A file to put. The store refuses bytes with another SHA-256, and takes it only where `over` (an ETag, or nothing) stands. */
export type NewObject = { path: string; from: string; bytes: number; sha256: string; over: string | null };

/**
 * The objects below the prefix of a bucket. Each call is one request or a page of them, repeated where that helps. Calls throw
 * an `AppError` that names the operation and no secret.
 */
export type Bucket = {
  readonly location: string;
  /** Every version and every delete marker below the prefix. Throws `oversize` for too many. */
  listVersions(): Promise<ObjectVersion[]>;
  /** The uploads in parts that were begun and neither ended nor aborted. */
  listUploads(): Promise<{ path: string; uploadId: string }[]>;
  /** The facts of the object that readers find at a path; undefined where there is none. */
  describe(path: string): Promise<ObjectFacts | undefined>;
  /** Measures the bytes that stand at a path now, as they come; of more than `bytesMax` (5 GiB), little more than that. */
  read(path: string, bytesMax?: number): Promise<Measured>;
  /**
   * Writes the object that stands at a path into a file, for its owner only. Undefined where there is none. Throws `oversize` for one of
   * more than `bytesMax` (5 GiB).
   */
  fetch(
    path: string,
    to: string,
    bytesMax?: number,
  ): Promise<(Pick<ObjectFacts, 'publisher'> & { bytes: number }) | undefined>;
  /** The first paths, `max` at most, that stand in the folder of a path behind it by name, in that order. */
  pathsAfter(path: string, max: number): Promise<string[]>;
  /** Puts a file. Returns whether it was taken: not where something else stands than `over` says. */
  put(object: NewObject, publisher: string): Promise<boolean>;
  /** Deletes one version for good. Returns what locks it, where it cannot be deleted. */
  removeVersion(version: Pick<ObjectVersion, 'path' | 'versionId' | 'isMarker' | 'putAt'>): Promise<Lock | undefined>;
  abortUpload(upload: { path: string; uploadId: string }): Promise<void>;
  /** For how long the bucket locks each new object, in words; null where it does not. */
  describeLock(): Promise<string | null>;
  [Symbol.dispose](): void;
};

const dayMs = 86_400_000;

const missing = [404];
/** An object has no lock, or the store knows no locks. */
const noLock = [400, 404, 501];

/** Opens a bucket; asks nothing of it yet. */
export async function openBucket(destination: Destination, tools: BucketTools): Promise<Bucket> {
  const store = await openStore(destination, tools);
  return {
    location: store.location,
    ...listsOf(store),
    ...objectsOf(store),
    ...locksOf(store),
    [Symbol.dispose]: () => store.client.destroy(),
  };
}

/** All that stands in a bucket, and the uploads that were begun. */
function listsOf(store: Store): Pick<Bucket, 'listVersions' | 'listUploads' | 'abortUpload' | 'pathsAfter'> {
  const { client, Bucket, prefix } = store;
  const below = { Bucket, ...(prefix === '' ? {} : { Prefix: prefix }) };
  return {
    listVersions: () =>
      collectPages(
        (from) =>
          ask(store, 's3:ListBucketVersions', (options) => client.listObjectVersions({ ...below, ...from }, options)),
        ({ Versions = [], DeleteMarkers = [] }) => [
          ...Versions.map(({ ETag, Size, StorageClass, ...version }) => ({
            ...nameOf(store, version),
            isMarker: false,
            isArchived: ['GLACIER', 'DEEP_ARCHIVE'].includes(StorageClass ?? ''),
            etag: ETag ?? '',
            bytes: Size ?? 0,
          })),
          ...DeleteMarkers.map((marker) => ({ ...nameOf(store, marker), isMarker: true, etag: '', bytes: 0 })),
        ],
      ),
    listUploads: () =>
      collectPages(
        (from) =>
          ask(store, 's3:ListBucketMultipartUploads', (options) =>
            client.listMultipartUploads({ ...below, ...from }, options),
          ),
        ({ Uploads = [] }) =>
          Uploads.map(({ Key, UploadId = '' }) => ({ path: pathOf(store, Key), uploadId: UploadId })),
      ),
    abortUpload: async ({ path, uploadId }) => {
      const upload = { ...at(store, path), UploadId: uploadId };
      const operation = 's3:AbortMultipartUpload';
      await askUnless(missing, store, operation, (options) => client.abortMultipartUpload(upload, options));
    },
    pathsAfter: async (path, max) => {
      const folder = path.replace(/[^/]*$/, '');
      const from = { Bucket, Prefix: `${prefix}${folder}`, StartAfter: `${prefix}${path}`, MaxKeys: max };
      const page = await ask(store, 's3:ListBucket', (options) => client.listObjectsV2(from, options));
      refuseOther(page);
      const { Contents = [] } = page;
      const paths = Contents.slice(0, max).map(({ Key }) => pathOf(store, Key));
      // Otherwise, who goes on behind the last one would come to no end.
      if (paths.some((each, index) => each <= (paths[index - 1] ?? path)))
        throw new AppError(`the store of ${store.location} lists names that were not asked for`, {
          code: 'service',
          hint: 'use a store that lists in the order of names, and from a name on',
        });
      return paths;
    },
  };
}

/** No object that this program puts is larger: it is put in one request. */
const objectBytesMax = 5 * 2 ** 30;

function tooLarge({ location }: Store, path: string, bytesMax: number): AppError {
  return new AppError(`${location} has an object without a length, or of more than ${bytesMax} bytes: ${path}`, {
    code: 'oversize',
    hint: 'see who else writes there: this program puts no such object',
  });
}

/** The condition of a put. Without a tag, or with one that any object has, it would be put over whatever stands there. */
function conditionOf({ location }: Store, over: string | null): { IfNoneMatch: string } | { IfMatch: string } {
  if (over === null) return { IfNoneMatch: '*' };
  if (/^(?!\*)[!-~]{1,256}$/.test(over)) return { IfMatch: over };
  throw new AppError(`the store of ${location} gives no ETag by which an object can be named`, {
    code: 'service',
    hint: 'use a store that gives each object an ETag, and keeps to If-Match',
  });
}

/** The objects that readers find. */
function objectsOf(store: Store): Pick<Bucket, 'describe' | 'read' | 'fetch' | 'put'> {
  const { client } = store;
  return {
    describe: async (path) => {
      const object = { ...at(store, path), ChecksumMode: 'ENABLED' } as const;
      const head = await askUnless(missing, store, 's3:GetObject', (options) => client.headObject(object, options));
      if (!head) return undefined;
      const sha256 =
        head.ChecksumSHA256 === undefined ? null : Buffer.from(head.ChecksumSHA256, 'base64').toString('hex');
      return { etag: head.ETag ?? '', sha256, publisher: head.Metadata?.['publisher'] ?? null };
    },
    read: (path, bytesMax = objectBytesMax) =>
      ask(
        store,
        's3:GetObject',
        async (options) => {
          const { Body } = await client.getObject(at(store, path), options);
          return measureStream(addAbortSignal(options.abortSignal, Body as Readable), bytesMax);
        },
        bytesMax,
      ),
    fetch: (path, to, bytesMax = objectBytesMax) =>
      askUnless(
        missing,
        store,
        's3:GetObject',
        async (options) => {
          const { Body, Metadata, ContentLength } = await client.getObject(at(store, path), options);
          const body = Body as Readable;
          // With a length, the connection ends the body there.
          if (ContentLength === undefined || ContentLength > bytesMax) {
            body.destroy();
            throw tooLarge(store, path, bytesMax);
          }
          await pipeline(body, createWriteStream(to, { mode: 0o600 }), { signal: options.abortSignal });
          return { publisher: Metadata?.['publisher'] ?? null, bytes: ContentLength };
        },
        bytesMax,
      ),
    put: async ({ path, from, bytes, sha256, over }, publisher) => {
      const about = {
        ...at(store, path),
        ContentLength: bytes,
        // A bucket with Object Lock asks for its name too.
        ChecksumAlgorithm: 'SHA256',
        ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
        Metadata: { publisher },
        ...conditionOf(store, over),
      } as const;
      // 404: If-Match where nothing stands any more.
      const taken = await askUnless(
        [404, 412],
        store,
        's3:PutObject',
        (options) => sendFile(from, (Body) => client.putObject({ ...about, Body }, options)),
        bytes,
      );
      return taken !== undefined;
    },
  };
}

/** The deletion of versions, and what keeps one from it. */
function locksOf(store: Store): Pick<Bucket, 'removeVersion' | 'describeLock'> {
  const { client } = store;
  return {
    removeVersion: async ({ path, versionId, isMarker, putAt }) => {
      const version = { ...at(store, path), VersionId: versionId };
      try {
        await askUnless(missing, store, 's3:DeleteObjectVersion', (options) => client.deleteObject(version, options));
        return undefined;
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'refused' || isMarker) throw error;
        const lock = await lockOf(store, version);
        if (lock) return lock;
        if (error.finding !== objectLocked) throw error;
        // Some stores lock by the rule of the bucket, and keep nothing with the object.
        const { days } = (await defaultLock(store)) ?? {};
        return { until: days === undefined ? null : new Date(Date.parse(putAt) + days * dayMs).toISOString() };
      }
    },
    describeLock: async () => {
      const lock = await defaultLock(store);
      return lock && (lock.days === undefined ? 'without a default' : `${lock.mode}, ${lock.days} days`);
    },
  };
}

async function lockOf(
  store: Store,
  version: { Bucket: string; Key: string; VersionId: string | undefined },
): Promise<Lock | undefined> {
  const { client, clock } = store;
  const hold = await askUnless(noLock, store, 's3:GetObjectLegalHold', (options) =>
    client.getObjectLegalHold(version, options),
  );
  if (hold?.LegalHold?.Status === 'ON') return { until: null };
  const retention = await askUnless(noLock, store, 's3:GetObjectRetention', (options) =>
    client.getObjectRetention(version, options),
  );
  const until = retention?.Retention?.RetainUntilDate;
  return until && until.getTime() > clock.now() ? { until: until.toISOString() } : undefined;
}

/** How the bucket locks a new object; null where it has no locks. */
async function defaultLock(store: Store): Promise<{ mode?: string | undefined; days?: number } | null> {
  const { client, Bucket } = store;
  const answer = await askUnless(noLock, store, 's3:GetBucketObjectLockConfiguration', (options) =>
    client.getObjectLockConfiguration({ Bucket }, options),
  );
  const found = answer?.ObjectLockConfiguration;
  if (found?.ObjectLockEnabled !== 'Enabled') return null;
  const { Mode: mode, Days, Years } = found.Rule?.DefaultRetention ?? {};
  const days = Days ?? (Years === undefined ? undefined : Years * 365);
  return days === undefined ? {} : { mode, days };
}

function nameOf(
  store: Store,
  { Key, VersionId: versionId, IsLatest, LastModified }: Omit<s3Version, 'ETag' | 'Size'>,
): Pick<ObjectVersion, 'path' | 'versionId' | 'isLatest' | 'putAt'> {
  // Without a time, it may have been put before anything else.
  const putAt = (LastModified ?? new Date(0)).toISOString();
  return { path: pathOf(store, Key), versionId, isLatest: IsLatest === true, putAt };
}

function at({ Bucket, prefix }: Store, path: string): { Bucket: string; Key: string } {
  return { Bucket, Key: `${prefix}${path}` };
}

function pathOf({ prefix }: Store, key: string | undefined): string {
  return (key ?? '').slice(prefix.length);
}
