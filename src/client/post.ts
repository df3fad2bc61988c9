import { request } from 'undici';
import { AppError, systemCode } from '../core/errors.ts';
import { openAgent, proxyRefusal } from './agent.ts';
import type { Clock } from '../core/clock.ts';
import { retry } from '../core/retry.ts';

/** What is posted to a place outside, and the bounds of its answer. */
export type Post = {
  body: string | Uint8Array;
  type: string;
  headers?: Readonly<Record<string, string>>;
  timeoutMs: number;
  bytesMax: number;
};

/**
 * Posts once, without redirects. The body is null where it is longer than `bytesMax`.
 * Throws `unreachable` without an answer in time. The error names neither the address nor a cause: the message of a connection
 * error may hold the address, which may be secret.
 */
export async function post(
  url: string,
  { body, type, headers, timeoutMs, bytesMax }: Post,
  signal: AbortSignal,
): Promise<{ status: number; body: Buffer | null }> {
  // Without one of its own, undici takes the process's, which NODE_USE_ENV_PROXY makes one that follows HTTP_PROXY.
  const dispatcher = openAgent();
  try {
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { ...headers, 'content-type': type, 'user-agent': 'analytics-mirror' },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of response.body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > bytesMax) return { status: response.statusCode, body: null };
      pieces.push(piece);
    }
    return { status: response.statusCode, body: Buffer.concat(pieces) };
  } catch (error) {
    signal.throwIfAborted();
    throw new AppError(proxyRefusal(error) ?? systemCode(error) ?? 'no answer', {
      code: 'unreachable',
      retryable: true,
    });
  } finally {
    await dispatcher.destroy();
  }
}

/** How long one attempt may take, and how long attempts go on. A receiver that restarts gets time to come back. */
const bounds = { timeoutMs: 10_000, bytesMax: 100_000 };
const limits = { attemptsMax: 30, delayBaseMs: 1000, delayMaxMs: 60_000, totalMs: 300_000 };

/**
 * Posts JSON or a text to a secret address for some minutes, without redirects. Its
 * errors never name the address.
 */
export function postWebhook(
  url: string,
  body: object | string,
  { clock, random, signal }: { clock: Clock; random: () => number; signal: AbortSignal },
): Promise<void> {
  return retry(() => attempt(url, body, signal), limits, { clock, random, signal });
}

async function attempt(url: string, body: object | string, signal: AbortSignal): Promise<void> {
  const content =
    typeof body === 'string'
      ? { type: 'text/plain; charset=utf-8', body }
      : { type: 'application/json', body: JSON.stringify(body) };
  const { status } = await post(url, { ...content, ...bounds }, signal).catch((error: unknown): never => {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    throw failed('unreachable', error.message, true);
  });
  // What stands before a receiver answers so while that is away.
  if ([502, 503, 504].includes(status)) throw failed('unreachable', `status ${status}`, true);
  if (status >= 300) throw failed('service', `status ${status}`, status >= 500 || status === 408 || status === 429);
}

function failed(code: 'unreachable' | 'service', reason: string, retryable: boolean): AppError {
  return new AppError(`the webhook did not accept an alert (${reason})`, {
    code,
    retryable,
    hint: 'check MIRROR_ALERT_WEBHOOK or the file that MIRROR_ALERT_WEBHOOK_FILE names',
  });
}
