import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { openBucket, type Bucket } from '../../src/bucket/bucket.ts';
import { followFolder, type FollowResult, type Seen } from '../../src/bucket/follow.ts';
import { sha256 as digest } from '../../src/core/digest.ts';
import type { Current, Manifest } from '../../src/snapshot/manifest.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { publishRows } from '../snapshot/publish-rows.ts';
import { localServer, type Answerer } from '../client/local-server.ts';
import { freshModel, type S3Model } from './s3-model.ts';

export { freshModel };

/** Keys that the model takes; the official chain finds them in the environment. */
export function setCredentials(): void {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDTEST');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-test');
  vi.stubEnv('AWS_REGION', 'us-east-1');
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** A bucket of the model, below a prefix, that tries each request once. */
export async function modelBucket({ endpoint }: Pick<S3Model, 'endpoint'>, attemptsMax = 1): Promise<Bucket> {
  setCredentials();
  const clock = { now: () => Date.now(), sleep: () => Promise.resolve() };
  const bucket = await openBucket(
    { location: 's3://bucket/mirror', endpoint, region: null, forcePathStyle: true },
    {
      clock,
      retry: { attemptsMax, totalMs: 1e6, delayBaseMs: 1, delayMaxMs: 1, retryAfterMaxMs: 1 },
      signal: new AbortController().signal,
    },
  );
  onTestFinished(() => bucket[Symbol.dispose]());
  return bucket;
}

/** A bucket at a store that answers each request in this way. */
export async function bucketAt(answer: Answerer): Promise<Bucket> {
  const { origin: endpoint } = await localServer(answer);
  return modelBucket({ endpoint });
}

/** An empty bucket of a model, and a folder with a published snapshot of these distinct ids. */
export async function freshScene(distinctIds: readonly string[], options: Parameters<typeof freshModel>[0] = {}) {
  const model = await freshModel(options);
  return { model, bucket: await modelBucket(model), dataDir: await folderWith(...distinctIds) };
}

/** Lets a bucket follow a folder. */
export function follow(
  dataDir: string,
  bucket: Bucket,
  name = 'mirror/1',
  heads: ReadonlyMap<number, string> = new Map(),
  seen: Seen = new Map(),
): Promise<FollowResult> {
  return followFolder({
    published: publishedFilesIn(dataDir),
    bucket,
    publisher: { name, heads },
    signal: new AbortController().signal,
    seen,
  });
}

/** A folder with a published snapshot of some rows. */
export async function folderWith(...distinctIds: string[]): Promise<string> {
  const dataDir = freshFolder();
  await publishDistinct(dataDir, distinctIds);
  return dataDir;
}

/** Publishes a snapshot with these distinct ids. */
export function publishDistinct(dataDir: string, distinctIds: readonly string[]): Promise<string> {
  const rows = distinctIds.map((id, index) => ({
    distinct_id: id,
    person_uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  }));
  return publishRows(dataDir, 'distinct_ids', rows, { partRows: 2 });
}

/** The published files of a folder, by the keys that they have to have in the bucket. */
export function filesOf(dataDir: string): Map<string, Buffer> {
  return new Map(
    publishedFilesIn(dataDir)
      .listPaths()
      .map(({ path, from }) => [`mirror/${path}`, readFileSync(from)]),
  );
}

/** The bucket has each file of the folder once, in one version, and no upload. */
export function expectEqual(model: S3Model, dataDir: string): void {
  const hex = (bytes: Buffer | null): string | undefined => bytes?.toString('hex');
  const stand = [...model.versions].map(([key, versions]) => [key, versions.map(({ bytes }) => hex(bytes))] as const);
  const files = [...filesOf(dataDir)].map(([key, bytes]) => [key, [hex(bytes)]] as const);
  expect(new Map(stand)).toEqual(new Map(files));
  expect(model.uploads).toEqual([]);
}

/** A reader finds all that CURRENT names, whole, and the lists that the hints of tables lead to. */
export function expectReadable(model: S3Model): void {
  const current = model.current();
  const pointer = current.get('mirror/CURRENT.json');
  if (!pointer) return;
  const { snapshots } = JSON.parse(String(pointer)) as Current;
  for (const { manifest } of Object.values(snapshots)) {
    const { files } = JSON.parse(String(current.get(`mirror/${manifest}`))) as Manifest;
    for (const { name, sha256 } of files) {
      const bytes = current.get(`mirror/${dirname(manifest)}/${name}`) ?? Buffer.alloc(0);
      expect(digest(bytes)).toBe(sha256);
    }
  }
  for (const [key, hint] of current) {
    const [, folder = ''] = /^(.*\/metadata\/)version-hint\.text$/.exec(key) ?? [];
    if (folder === '') continue;
    const table = JSON.parse(String(current.get(`${folder}v${String(hint).trim()}.metadata.json`))) as {
      snapshots: { 'manifest-list': string }[];
    };
    expect(table.snapshots.length).toBeGreaterThan(0);
    for (const { 'manifest-list': list } of table.snapshots)
      expect(current.has(`${folder}${basename(list)}`)).toBe(true);
  }
}
