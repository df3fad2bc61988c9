import { post, type Post } from '../client/post.ts';
import { AppError } from '../core/errors.ts';

/** What an anchor is asked: to anchor the checkpoint of a size. `covered`: the newest size that it is known to have anchored. */
export type Ask = { folder: string; size: number; covered: number; isNewest: boolean; signal: AbortSignal };

/** `away`: it may answer later. `refused`: it says that the ledger is not the one that it has seen. */
export type Answer = { result: 'anchored' | 'away' | 'refused'; says: string };

// All anchors are asked at the same time, so a run waits for the slowest only, and a witness is asked twice at the most.
const bounds = { timeoutMs: 10_000, bytesMax: 100_000 };

/** Posts to an anchor. An anchor that gives no answer in time, or a longer one than allowed, is `away`. Throws when the signal is aborted. */
export async function askOutside(
  url: string,
  content: Pick<Post, 'body' | 'type'>,
  signal: AbortSignal,
): Promise<{ status: number; body: Buffer } | Answer> {
  try {
    const { status, body } = await post(url, { ...content, ...bounds }, signal);
    return body === null ? { result: 'away', says: 'answered with too many bytes' } : { status, body };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    return { result: 'away', says: `cannot be reached (${error.message})` };
  }
}
