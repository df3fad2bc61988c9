import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { pipeline, type Readable } from 'node:stream';
import type * as Undici from 'undici';
import { AppError, systemCode } from '../core/errors.ts';
import { Late } from './budget.ts';
import { answerTimeouts, openAgent, proxyRefusal } from './agent.ts';

/** How long and how much a call may take. */
export type TransportLimits = {
  totalTimeoutMs: number;
  /** Of the decompressed body. */
  bodyBytesMax: number;
};

/** One HTTP request without its host, which is always the same. */
export type TransportRequest = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query. */
  path: string;
  body?: string | undefined;
  /** Beside those of every request. */
  headers?: Readonly<Record<string, string>> | undefined;
  signal?: AbortSignal | undefined;
  /** Is asked as the request is written to its connection: then nothing is sent, and the call rejects with `Late`. */
  isLate?: (() => boolean) | undefined;
};

/** One HTTP answer of any status, with the bytes of its whole body, unpacked. */
export type TransportResponse = {
  status: number;
  contentType: string;
  retryAfter: string | undefined;
  /** The service's own clock, from its `Date` header. */
  date: string | undefined;
  /** Where a redirect leads; when the address was declared deprecated; when it will be switched off. As sent. */
  location?: string | undefined;
  deprecation?: string | undefined;
  sunset?: string | undefined;
  /** How old the answer is, as a cache says (`Age`, the greatest of a list) that gave it; Infinity where one tells no age, 0 where there is none. */
  ageSeconds?: number;
  bytes: Buffer;
};

/** In these headers caches say that an answer is out of them. One that has asked the service whether it still holds says otherwise. */
const cacheHeaders = ['cache-status', 'cf-cache-status', 'x-cache', 'x-cache-status', 'x-proxy-cache'];
/** Those of nginx. It writes no `Age`, and keeps one with the answer that a cache behind it wrote: 0 for as long as it keeps the answer. */
const agelessHeaders = ['x-cache-status', 'x-proxy-cache'];
const outOfCache = /(?<!refresh|fwd=)(?:\b|_)(?:hit|stale|updating)\b/i;

/** Sends requests to one origin with one key. The key goes nowhere else: redirects are not followed. */
export type Transport = {
  /** Rejects with a retryable `unreachable` error when there is no whole answer, `oversize` when it is too large. */
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
};

const decompressors = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress } as const;

/** A pool of connections to the service. `apiKey`: null for none. The first call opens it: a job that asks nothing does not wait for it. */
export function openTransport(
  origin: string,
  apiKey: string | null,
  connections: number,
  limits: TransportLimits,
  pool?: Undici.Dispatcher,
): Transport {
  const open = (): Undici.Dispatcher => (pool ??= openAgent({ connections, ...answerTimeouts }));
  return {
    send: async ({ method, path, body, headers: more, signal, isLate }) => {
      // The signal that Node makes for a time out is kept until that time, with all of the call: too much of fast calls.
      const timeout = new AbortController();
      using _timer = setTimeout(() => timeout.abort(), limits.totalTimeoutMs);
      try {
        const response = await inTurn(open(), isLate).request({
          origin,
          method,
          path,
          headers: {
            ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
            accept: 'application/json',
            'cache-control': 'no-cache',
            'accept-encoding': 'gzip, deflate, br',
            'user-agent': 'analytics-mirror',
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...more,
          },
          body: body ?? null,
          signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
        });
        const { headers, statusCode: status } = response;
        // An answer without a body may still name an encoding; an empty body cannot be unpacked.
        const isEmpty = status === 204 || headers['content-length'] === '0';
        const encoding = isEmpty ? undefined : header(headers['content-encoding'])?.toLowerCase();
        return {
          status,
          contentType: header(headers['content-type']) ?? '',
          retryAfter: header(headers['retry-after']),
          date: header(headers['date']),
          location: header(headers['location']),
          deprecation: header(headers['deprecation']),
          sunset: header(headers['sunset']),
          ageSeconds: ageOf(headers),
          bytes: await readBytes(response.body, encoding, limits.bodyBytesMax),
        };
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof AppError || error instanceof Late) throw error;
        throw unreachable(origin, timeout.signal.aborted ? 'no whole answer in time' : reasonOf(error), error);
      }
    },
    close: async () => pool?.destroy(),
  };
}

/** Asks `isLate` at the last moment: before, a request may wait for its connection, or its process be stopped. */
function inTurn(pool: Undici.Dispatcher, isLate: () => boolean = () => false): Undici.Dispatcher {
  return pool.compose((dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) =>
      isLate() ? controller.abort(new Late()) : start?.(controller, context);
    return dispatch(options, handler);
  });
}

/** Unpacks a body. Stops as soon as it is larger than allowed. */
async function readBytes(body: Readable, encoding: string | undefined, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of decompressed(body, encoding)) {
    bytes += (chunk as Buffer).length;
    if (bytes > bytesMax)
      throw new AppError(`the service's answer is larger than ${bytesMax} bytes`, {
        code: 'oversize',
        hint: 'ask for smaller pages (persons.pageSize, recordings.pageSize) or raise service.bodyBytesMax',
      });
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks, bytes);
}

function decompressed(body: Readable, encoding: string | undefined): Readable {
  if (encoding === undefined || encoding === 'identity') return body;
  if (!isKnownEncoding(encoding)) {
    // A body that is not read would keep its connection open.
    body.on('error', () => undefined).destroy();
    throw new AppError('the service compresses its answer in a way that was not requested', {
      code: 'service',
      hint: 'a proxy may stand before the service; check service.baseUrl',
    });
  }
  // The reader of the last stream gets the error; the callback only keeps it from being unhandled.
  return pipeline(body, decompressors[encoding](), () => undefined);
}

function isKnownEncoding(encoding: string): encoding is keyof typeof decompressors {
  return Object.hasOwn(decompressors, encoding);
}

function ageOf(headers: Readonly<Record<string, string | string[] | undefined>>): number {
  const ages = [headers['age'] ?? []].flat().flatMap((list) => list.split(','));
  const oldest = Math.max(0, ...ages.map((age) => Number.parseInt(age, 10) || 0));
  if (oldest > 0) return oldest;
  return (ages.length === 0 ? cacheHeaders : agelessHeaders).some((name) => outOfCache.test(String(headers[name])))
    ? Infinity
    : 0;
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Why no whole answer came, in words or as the code that the system gives. */
function reasonOf(error: unknown): string {
  const code = proxyRefusal(error) ?? systemCode(error) ?? 'connection failed';
  // Codes of gzip, deflate and Brotli.
  return /^(?:Z_|ERR__ERROR_)/.test(code) ? `its compressed answer is cut off or damaged (${code})` : code;
}

function unreachable(origin: string, reason: string, cause: unknown): AppError {
  return new AppError(`no answer from ${origin}: ${reason}`, {
    code: 'unreachable',
    retryable: true,
    hint: /CERT|SIGNATURE/.test(reason)
      ? 'the certificate of the service is not trusted: check service.baseUrl (MIRROR_BASE_URL) and the clock of this machine; for a certificate authority of your own, set NODE_EXTRA_CA_CERTS to its file'
      : `check service.baseUrl (MIRROR_BASE_URL), the network${origin.startsWith('https:') ? ' and its proxy (HTTPS_PROXY)' : ''}, and that the service runs`,
    cause,
  });
}
