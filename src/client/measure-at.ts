import { request } from 'undici';
import { measureStream, type Measured } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { answerTimeouts, openAgent } from './agent.ts';

/** A server that sends more slowly than this, on the whole, does not answer. */
const bytesPerMs = 20;

/** Measures what is at addresses, over one pool of connections. */
type Measuring = AsyncDisposable & {
  /**
   * Measures what is at an address, without redirects; of more than `bytesMax` bytes,
   * little more than that. Undefined where nothing is (404, 410). Throws an `AppError` for any other answer, and for none in time.
   */
  measure(url: URL, bytesMax: number, signal: AbortSignal): Promise<Measured | undefined>;
};

/** Opens no connection yet. */
export function openMeasuring(): Measuring {
  const dispatcher = openAgent(answerTimeouts);
  return {
    measure: async (url, bytesMax, signal) => {
      const deadline = AbortSignal.timeout(Math.ceil(answerTimeouts.bodyTimeout + bytesMax / bytesPerMs));
      try {
        const { statusCode: status, body } = await request(url, {
          dispatcher,
          headers: { 'user-agent': 'analytics-mirror', 'accept-encoding': 'identity' },
          signal: AbortSignal.any([signal, deadline]),
        });
        if (status === 200) return await measureStream(body, bytesMax);
        body.on('error', () => undefined).destroy();
        if (status === 404 || status === 410) return undefined;
        throw answered(url, status);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof AppError) throw error;
        throw new AppError(`${url.href} does not answer`, {
          code: 'unreachable',
          hint: 'see that the address is right and the server runs',
          retryable: true,
        });
      }
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

function answered(url: URL, status: number): AppError {
  const message = `${url.href} answers with ${status}`;
  if (status === 401 || status === 403)
    return new AppError(message, {
      code: 'refused',
      hint: 'let this machine read below the address, and let the server answer 404 for what is not there',
      status,
    });
  const isRedirect = status >= 300 && status < 400;
  return new AppError(message, {
    code: 'service',
    hint: isRedirect ? 'give the address to which it leads: redirects are not followed' : 'try again later',
    retryable: status >= 500 || status === 429,
    status,
  });
}
