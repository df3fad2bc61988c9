import type { Service } from '../client/service.ts';
import { AppError } from '../core/errors.ts';

// The erasure here must not wait as long as retries would wait for a service that is down.
const patienceMs = 60_000;

/**
 * The answer to a question; null when the service does not answer in a minute, or refuses to: then `onFailure` hears why. Throws the
 * signal's reason, and what is no error of the service.
 */
export async function askPatiently<Context extends { signal: AbortSignal }, T>(
  context: Context,
  service: Service,
  question: (context: Context, service: Service) => Promise<T>,
  onFailure: (error: unknown) => void = () => undefined,
): Promise<T | null> {
  const patience = AbortSignal.timeout(patienceMs);
  try {
    return await question({ ...context, signal: AbortSignal.any([context.signal, patience]) }, service);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof AppError) && !patience.aborted) throw error;
    onFailure(error);
    return null;
  }
}
