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
const answerBytesMax = 2 << 20;
/** A page of a list has some ten thousand tags, and no text longer than a name. */
const answerTagsMax = 100_000;
const answerTextBytesMax = 16 << 10;

/** A request may take so long, besides what it takes to move an object at the least speed. */
const answerMs = 5 * 60_000;
const leastBytesPerMs = 64;

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
        const response = result.response as { body?: unknown; statusCode?: number };
        const isObject = commandName === 'GetObjectCommand' && (response.statusCode ?? 0) < 300;
        if (!isObject && response.body instanceof Readable)
          response.body = Readable.from([await readAnswer(response.body)], { objectMode: false });
        return result;
      },
    // Next to the socket: before anything reads the answer.
    { step: 'deserialize', name: 'boundOfAnswers', priority: 'low' },
  );
  return { ...tools, client, location, ...placeOf(location) };
}

/** Reads an answer that is no object. Throws `oversize` for one that is none of a store's, which the parser of the SDK is not given. */
async function readAnswer(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  using _late = setTimeout(() => body.destroy(new Error('late')), answerMs);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if ((bytes += chunk.length) > answerBytesMax) throw tooMuch(`more than ${answerBytesMax} bytes`);
  }
  const answer = Buffer.concat(chunks);
  let [tags, from] = [0, 0];
  for (let at = 0; at !== answer.length; tags += 1) {
    const next = answer.indexOf('<', from);
    at = next === -1 ? answer.length : next;
    if (at - from > answerTextBytesMax) throw tooMuch(`a text of more than ${answerTextBytesMax} bytes`);
    from = at + 1;
  }
  if (tags > answerTagsMax) throw tooMuch(`more than ${answerTagsMax} tags`);
  // The parser reads the whole answer for each of them.
  if (/<!doctype/i.test(answer.toString('latin1'))) throw tooMuch('a document type');
  return answer;
}

function tooMuch(what: string): AppError {
  return new AppError(`an answer of the store has ${what}`, {
    code: 'oversize',
    hint: 'see what answers at the address of the store: a list has pages of at most 1,000 names',
  });
}

/** Bucket and prefix of a location that the settings have checked. */
function placeOf(location: string): { Bucket: string; prefix: string } {
  const [, Bucket = '', path = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(location) ?? [];
  return { Bucket, prefix: path === '' ? '' : `${path}/` };
}

/**
 * Asks the store, again where that helps. `operation` is the right that it needs, as policies spell it; `bytes`: those of an object that
 * goes there or comes at most.
 */
export function ask<T>(
  { location, clock, retry: limits, signal }: Store,
  operation: string,
  send: (options: { abortSignal: AbortSignal }) => Promise<T>,
  bytes = 0,
): Promise<T> {
  const attempt = (): Promise<T> => {
    const late = AbortSignal.timeout(answerMs + Math.ceil(bytes / leastBytesPerMs));
    return send({ abortSignal: AbortSignal.any([signal, late]) }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw explainBucketError(error, { operation, location });
    });
  };
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
