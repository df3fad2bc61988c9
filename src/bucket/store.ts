import { Readable } from 'node:stream';
import type { S3 } from '@aws-sdk/client-s3';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { retry } from '../core/retry.ts';
import { explainBucketError } from './bucket-error.ts';

/** What calls are repeated by, and ended by. */
export type BucketTools = { clock: Clock; retry: Settings['retry']; signal: AbortSignal };

/** A store, with the place of a bucket in it: `prefix` ends with a slash, or is empty. */
export type Store = BucketTools & { client: S3; location: string; Bucket: string; prefix: string };

const connectionTimeoutMs = 10_000;
const silenceMs = 60_000;

/** The most of an answer that is read into memory: all but the bytes of objects. A page of a list has some hundred kB. */
const answerBytesMax = 16 << 20;

/** The clocks of a store and of this machine differ by less: an answer from a clock that is farther away is an error. */
export const clockDifferenceMs = 15 * 60_000;

const silent = (): void => undefined;

/** Makes the client of a store; asks nothing of it yet. The SDK is loaded here, and nowhere else: it costs a tenth of a second. */
export async function openStore(
  { location, endpoint, region, forcePathStyle }: { location: string } & Settings['export']['s3'],
  tools: BucketTools,
): Promise<Store> {
  const { S3 } = await import('@aws-sdk/client-s3');
  const client = new S3({
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
      if (Math.abs(Date.parse(headers?.['date'] ?? '') - tools.clock.now()) >= clockDifferenceMs)
        throw Object.assign(new Error('clock'), { name: 'RequestTimeTooSkewed' });
      return result;
    },
    { step: 'deserialize', name: 'clockOfStore' },
  );
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        const response = result.response as { body?: unknown };
        if (commandName !== 'GetObjectCommand' && response.body instanceof Readable)
          response.body = response.body.compose(bounded);
        return result;
      },
    // Next to the socket: before anything reads the answer.
    { step: 'deserialize', name: 'boundOfAnswers', priority: 'low' },
  );
  return { ...tools, client, location, ...placeOf(location) };
}

/** Passes an answer on, until it is too long. */
async function* bounded(answer: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.length;
    if (bytes > answerBytesMax)
      throw new AppError(`an answer of the store has more than ${answerBytesMax} bytes`, {
        code: 'oversize',
        hint: 'see what answers at the address of the store: a list has pages of at most 1,000 names',
      });
    yield chunk;
  }
}

/** Bucket and prefix of a location that the settings have checked. */
function placeOf(location: string): { Bucket: string; prefix: string } {
  const [, Bucket = '', path = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(location) ?? [];
  return { Bucket, prefix: path === '' ? '' : `${path}/` };
}

/** Asks the store, again where that helps. `operation` is the right that it needs, as policies spell it. */
export function ask<T>(
  { location, clock, retry: limits, signal }: Store,
  operation: string,
  send: (options: { abortSignal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const attempt = (): Promise<T> =>
    send({ abortSignal: signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw explainBucketError(error, { operation, location });
    });
  return retry(attempt, limits, { clock, random: Math.random, signal });
}

/** Asks the store, as `ask` does. Undefined where it answers with one of these statuses. */
export async function askUnless<T>(
  statuses: readonly number[],
  ...asked: Parameters<typeof ask<T>>
): Promise<T | undefined> {
  try {
    return await ask(...asked);
  } catch (error) {
    if (error instanceof AppError && statuses.includes(error.status ?? 0)) return undefined;
    throw error;
  }
}
