import process from 'node:process';
import { onTestFinished } from 'vitest';
import { openBucket, type Bucket } from '../../src/bucket/bucket.ts';
import { systemClock } from '../../src/core/clock.ts';
import { localServer, type Answerer } from '../client/local-server.ts';
import { storeKeys } from './real-store.ts';

/** A bucket at a store that answers each request in this way. */
export async function bucketAt(answer: Answerer): Promise<Bucket> {
  Object.assign(process.env, storeKeys);
  const { origin: endpoint } = await localServer(answer);
  const place = { location: 's3://bucket/mirror', endpoint, region: 'us-east-1', forcePathStyle: true };
  const retry = { attemptsMax: 1, totalMs: 10_000, delayBaseMs: 1, delayMaxMs: 1, retryAfterMaxMs: 1 };
  const bucket = await openBucket(place, { clock: systemClock, retry, signal: new AbortController().signal });
  onTestFinished(() => bucket[Symbol.dispose]());
  return bucket;
}
