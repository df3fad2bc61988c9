import { AppError } from '../core/errors.ts';
import type { Reply } from './service.ts';

/** The body that a call is answered with; undefined where the answer is 404. Rejects as the call does. */
export async function bodyOrMissing(call: Promise<Reply>): Promise<unknown> {
  try {
    return (await call).body;
  } catch (error) {
    if (error instanceof AppError && error.status === 404) return undefined;
    throw error;
  }
}
