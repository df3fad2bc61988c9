import { Agent, request } from 'undici';
import type { Clock } from '../core/clock.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { retry } from '../core/retry.ts';

/** How long one attempt may take, and how long attempts go on. A receiver that restarts gets time to come back. */
const attemptTimeoutMs = 10_000;
const limits = { attemptsMax: 30, delayBaseMs: 1000, delayMaxMs: 60_000, totalMs: 300_000 };

/**
 * Posts JSON or a text to a secret address for some minutes, without redirects, and through no proxy of the environment. Its
 * errors never name the address.
 */
export function postWebhook(
  url: string,
  body: object | string,
  { clock, random, signal }: { clock: Clock; random: () => number; signal: AbortSignal },
): Promise<void> {
  return retry(() => post(url, body, signal), limits, { clock, random, signal });
}

async function post(url: string, body: object | string, signal: AbortSignal): Promise<void> {
  let status: number;
  // Without one of its own, undici takes the process's, which NODE_USE_ENV_PROXY makes one that follows HTTP_PROXY.
  const dispatcher = new Agent();
  try {
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json',
        'user-agent': 'analytics-mirror',
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(attemptTimeoutMs)]),
    });
    status = response.statusCode;
    await response.body.dump();
  } catch (error) {
    signal.throwIfAborted();
    // No cause: the message of a connection error may hold the address.
    throw failed('unreachable', systemCode(error) ?? 'no answer', true);
  } finally {
    await dispatcher.destroy();
  }
  if (status >= 300) throw failed('service', `status ${status}`, status >= 500 || status === 408 || status === 429);
}

function failed(code: 'unreachable' | 'service', reason: string, retryable: boolean): AppError {
  return new AppError(`the webhook did not accept an alert (${reason})`, {
    code,
    retryable,
    hint: 'check MIRROR_ALERT_WEBHOOK or the file that MIRROR_ALERT_WEBHOOK_FILE names',
  });
}
