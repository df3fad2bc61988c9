import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { retry } from '../core/retry.ts';
import { post } from './post.ts';

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
  if (status >= 300) throw failed('service', `status ${status}`, status >= 500 || status === 408 || status === 429);
}

function failed(code: 'unreachable' | 'service', reason: string, retryable: boolean): AppError {
  return new AppError(`the webhook did not accept an alert (${reason})`, {
    code,
    retryable,
    hint: 'check MIRROR_ALERT_WEBHOOK or the file that MIRROR_ALERT_WEBHOOK_FILE names',
  });
}
