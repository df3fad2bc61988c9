import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ObjectVersion as s3Version, S3Client } from '@aws-sdk/client-s3';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import { measureStream, type Measured } from '../core/digest.ts';
import { retry } from '../core/retry.ts';
import { AppError } from '../core/errors.ts';
import { explainBucketError, objectLocked } from './bucket-error.ts';
import { sendFile } from './send-file.ts';
import { collectPages } from './list-pages.ts';

/** The place of a bucket, and how it is reached. */
export type Destination = { location: string } & Settings['export']['s3'];

/** A version of an object, or a delete marker. `path` is below the prefix. */
export type ObjectVersion = {
  path: string;
  /** Undefined where the store gives none. */
  versionId: string | undefined;
  isLatest: boolean;
  isMarker: boolean;
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
  /** Every version and every delete marker below the prefix. Throws `oversize` for more than a million. */
  listVersions(): Promise<ObjectVersion[]>;
  /** The uploads in parts that were begun and neither ended nor aborted. */
  listUploads(): Promise<{ path: string; uploadId: string }[]>;
  /** The facts of the object that readers find at a path; undefined where there is none. */
  describe(path: string): Promise<ObjectFacts | undefined>;
  /** Measures the bytes that stand at a path now, as they come; of more than `bytesMax`, little more than that. */
  read(path: string, bytesMax?: number): Promise<Measured>;
  /** Writes the object that stands at a path into a file, for its owner only. Undefined where there is none. */
  fetch(path: string, to: string): Promise<Pick<ObjectFacts, 'publisher'> | undefined>;
  /** The first paths, `max` at most, that stand in the folder of a path behind it by name. */
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

/** What calls are repeated by, and ended by. */
export type BucketTools = { clock: Clock; retry: Settings['retry']; signal: AbortSignal };

const connectionTimeoutMs = 10_000;
const silenceMs = 60_000;

const dayMs = 86_400_000;

/** The clocks of a store and of this machine differ by less: an answer from a clock that is farther away is an error. */
export const clockDifferenceMs = 15 * 60_000;

const missing = [404];
/** An object has no lock, or the store knows no locks. */
const noLock = [400, 404, 501];

const silent = (): void => undefined;

/** Opens a bucket; asks nothing of it yet. The SDK is loaded here, and nowhere else: it costs a tenth of a second. */
export async function openBucket(
  { location, endpoint, region, forcePathStyle }: Destination,
  { clock, retry: limits, signal }: BucketTools,
): Promise<Bucket> {
  const { bucket: Bucket, prefix } = placeOf(location);
  const s3 = await import('@aws-sdk/client-s3');
  const client: S3Client = new s3.S3Client({
    ...(endpoint === null ? {} : { endpoint, region: region ?? 'us-east-1' }),
    ...(region === null ? {} : { region }),
    forcePathStyle,
    // Repeated here: the SDK does not repeat what it streams, and its errors are of another kind.
    maxAttempts: 1,
    // Otherwise it writes to the console.
    logger: { trace: silent, debug: silent, info: silent, warn: silent, error: silent },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectionTimeoutMs, socketTimeout: silenceMs },
  });
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as { headers?: Record<string, string> };
      // Amazon refuses such a request; others do not, and the times of their versions would be taken for ours.
      if (Math.abs(Date.parse(headers?.['date'] ?? '') - clock.now()) >= clockDifferenceMs)
        throw Object.assign(new Error('clock'), { name: 'RequestTimeTooSkewed' });
      return result;
    },
    { step: 'deserialize', name: 'clockOfStore' },
  );
  const send = <T>(operation: string, act: (options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> =>
    retry(
      () =>
        act({ abortSignal: signal }).catch((error: unknown) => {
          signal.throwIfAborted();
          throw explainBucketError(error, { operation, location });
        }),
      limits,
      { clock, random: Math.random, signal },
    );
  const keyOf = (path: string): string => `${prefix}${path}`;
  const pathOf = (key: string | undefined): string => (key ?? '').slice(prefix.length);
  const below = { Bucket, ...(prefix === '' ? {} : { Prefix: prefix }) };
  const at = (path: string): { Bucket: string; Key: string } => ({ Bucket, Key: keyOf(path) });
  /** The answer of a store; undefined where it has one of these statuses. */
  const unless = async <T>(statuses: readonly number[], asked: Promise<T>): Promise<T | undefined> => {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof AppError && statuses.includes(error.status ?? 0)) return undefined;
      throw error;
    }
  };
  const lockOf = async (path: string, versionId: string | undefined): Promise<Lock | undefined> => {
    const version = { ...at(path), VersionId: versionId };
    const hold = await unless(
      noLock,
      send('s3:GetObjectLegalHold', (options) => client.send(new s3.GetObjectLegalHoldCommand(version), options)),
    );
    if (hold?.LegalHold?.Status === 'ON') return { until: null };
    const retention = await unless(
      noLock,
      send('s3:GetObjectRetention', (options) => client.send(new s3.GetObjectRetentionCommand(version), options)),
    );
    const until = retention?.Retention?.RetainUntilDate;
    return until && until.getTime() > clock.now() ? { until: until.toISOString() } : undefined;
  };

  /** How the bucket locks a new object; null where it has no locks. */
  const defaultLock = async (): Promise<{ mode?: string | undefined; days?: number } | null> => {
    const asked = send('s3:GetBucketObjectLockConfiguration', (options) =>
      client.send(new s3.GetObjectLockConfigurationCommand({ Bucket }), options),
    );
    const found = (await unless(noLock, asked))?.ObjectLockConfiguration;
    if (found?.ObjectLockEnabled !== 'Enabled') return null;
    const { Mode: mode, Days, Years } = found.Rule?.DefaultRetention ?? {};
    const days = Days ?? (Years === undefined ? undefined : Years * 365);
    return days === undefined ? {} : { mode, days };
  };

  return {
    location,
    listVersions: () =>
      collectPages(
        (from) =>
          send('s3:ListBucketVersions', (options) =>
            client.send(new s3.ListObjectVersionsCommand({ ...below, ...from }), options),
          ),
        ({ Versions = [], DeleteMarkers = [] }) => [
          ...Versions.map(({ ETag, Size, ...version }) => ({
            ...nameOf(version),
            isMarker: false,
            etag: ETag ?? '',
            bytes: Size ?? 0,
          })),
          ...DeleteMarkers.map((marker) => ({ ...nameOf(marker), isMarker: true, etag: '', bytes: 0 })),
        ],
      ),
    listUploads: () =>
      collectPages(
        (from) =>
          send('s3:ListBucketMultipartUploads', (options) =>
            client.send(new s3.ListMultipartUploadsCommand({ ...below, ...from }), options),
          ),
        ({ Uploads = [] }) => Uploads.map(({ Key, UploadId = '' }) => ({ path: pathOf(Key), uploadId: UploadId })),
      ),
    describe: async (path) => {
      const asked = send('s3:GetObject', (options) =>
        client.send(new s3.HeadObjectCommand({ ...at(path), ChecksumMode: 'ENABLED' }), options),
      );
      const head = await unless(missing, asked);
      if (!head) return undefined;
      const sha256 = head.ChecksumSHA256 === undefined ? null : hexOf(head.ChecksumSHA256);
      return { etag: head.ETag ?? '', sha256, publisher: head.Metadata?.['publisher'] ?? null };
    },
    read: (path, bytesMax) =>
      send('s3:GetObject', async (options) => {
        const { Body } = await client.send(new s3.GetObjectCommand(at(path)), options);
        return measureStream(Body as Readable, bytesMax);
      }),
    fetch: (path, to) =>
      unless(
        missing,
        send('s3:GetObject', async (options) => {
          const { Body, Metadata } = await client.send(new s3.GetObjectCommand(at(path)), options);
          await pipeline(Body as Readable, createWriteStream(to, { mode: 0o600 }), { signal });
          return { publisher: Metadata?.['publisher'] ?? null };
        }),
      ),
    pathsAfter: async (path, max) => {
      const from = { Prefix: keyOf(path.replace(/[^/]*$/, '')), StartAfter: keyOf(path), MaxKeys: max };
      const { Contents = [] } = await send('s3:ListBucket', (options) =>
        client.send(new s3.ListObjectsV2Command({ Bucket, ...from }), options),
      );
      return Contents.map(({ Key }) => pathOf(Key));
    },
    put: async ({ path, from, bytes, sha256, over }, publisher) => {
      const about = {
        ...at(path),
        ContentLength: bytes,
        // A bucket with Object Lock asks for its name too.
        ChecksumAlgorithm: 'SHA256',
        ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
        Metadata: { publisher },
        ...(over === null ? { IfNoneMatch: '*' } : { IfMatch: over }),
      } as const;
      const asked = send('s3:PutObject', (options) =>
        sendFile(from, (Body) => client.send(new s3.PutObjectCommand({ ...about, Body }), options)),
      );
      // 404: If-Match where nothing stands any more.
      return (await unless([404, 412], asked)) !== undefined;
    },
    removeVersion: async ({ path, versionId, isMarker, putAt }) => {
      const asked = send('s3:DeleteObjectVersion', (options) =>
        client.send(new s3.DeleteObjectCommand({ ...at(path), VersionId: versionId }), options),
      );
      try {
        await unless(missing, asked);
        return undefined;
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'refused' || isMarker) throw error;
        const lock = await lockOf(path, versionId);
        if (lock) return lock;
        if (error.finding !== objectLocked) throw error;
        // Some stores lock by the rule of the bucket, and keep nothing with the object.
        const { days } = (await defaultLock()) ?? {};
        return { until: days === undefined ? null : new Date(Date.parse(putAt) + days * dayMs).toISOString() };
      }
    },
    abortUpload: async ({ path, uploadId }) => {
      const asked = send('s3:AbortMultipartUpload', (options) =>
        client.send(new s3.AbortMultipartUploadCommand({ ...at(path), UploadId: uploadId }), options),
      );
      await unless(missing, asked);
    },
    describeLock: async () => {
      const lock = await defaultLock();
      return lock && (lock.days === undefined ? 'without a default' : `${lock.mode}, ${lock.days} days`);
    },
    [Symbol.dispose]: () => client.destroy(),
  };

  function nameOf({
    Key,
    VersionId: versionId,
    IsLatest,
    LastModified,
  }: Pick<s3Version, 'Key' | 'VersionId' | 'IsLatest' | 'LastModified'>): Pick<
    ObjectVersion,
    'path' | 'versionId' | 'isLatest' | 'putAt'
  > {
    // Without a time, it may have been put before anything else.
    const putAt = (LastModified ?? new Date(0)).toISOString();
    return { path: pathOf(Key), versionId, isLatest: IsLatest === true, putAt };
  }
}

/** Bucket and prefix of a location that the settings have checked; the prefix ends with a slash, or is empty. */
function placeOf(location: string): { bucket: string; prefix: string } {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(location) ?? [];
  return { bucket, prefix: path === '' ? '' : `${path}/` };
}

function hexOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}
