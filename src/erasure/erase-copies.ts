import { lastEnd } from '../bucket/follow-plan.ts';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { JobContext, RemoteState } from '../job/job-context.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttentionReason } from '../ledger/vocabulary.ts';
import { addTargetToFenced } from '../mirror/erasure-requests.ts';
import { beginAt, reasonOf } from './erase-bucket.ts';
import { callAttentionOnce, note, settle } from './request/target-journal.ts';
import { eachTogether } from './request/together.ts';
import { transact } from '../mirror/transact.ts';

/**
 * Uploads the state without the erased persons to the place that other machines reach, removes older versions there, and checks that
 * no machine has a copy. Where that cannot be, the requests stay open and call for attention.
 */
export async function eraseCopies(context: JobContext): Promise<void> {
  const { db, clock, remote } = context;
  if (!remote) return;
  // A request that came before other machines reached the project has no such target yet.
  transact(db, () => addTargetToFenced(db, 'copies', isoTime(clock.now())));
  const ready = beginAt(context, 'copies');
  if (ready.length === 0) return;
  const found = await lookAtCopies(context, remote);
  await eachTogether(context, ready, (own, { request, target }) => {
    if ('reason' in found) {
      callAttentionOnce(own, request, target, found.reason);
      if (found.until) note(own, request, 'copies', { notBefore: found.until });
      return;
    }
    const machines = machinesSince(own.ledger(), request.id);
    const assurance = found.isForgotten ? 'not_verifiable' : 'observed';
    settle(own, [request], 'copies', { result: 'absent', assurance, ...(machines.length > 0 ? { machines } : {}) });
  });
}

/** Commits, and looks for copies elsewhere. What keeps them is why a request waits. */
async function lookAtCopies(
  { db, ledger, log, signal }: JobContext,
  remote: RemoteState,
): Promise<{ reason: AttentionReason; until?: string | null } | { isForgotten: boolean }> {
  try {
    const { locked } = await remote.commit(db);
    if (locked.length > 0) return { reason: 'bucket_locked', until: lastEnd(locked) };
    const { machines, isForgotten } = await remote.copiesElsewhere(ledger());
    if (machines.length === 0) return { isForgotten };
    log.warn({ machines: machines.length }, 'other machines may still have copies');
    return { reason: 'copy_elsewhere' };
  } catch (error) {
    signal.throwIfAborted();
    // Another machine has taken the project over: nothing more may be written.
    if (!(error instanceof AppError) || error.code === 'busy') throw error;
    return { reason: reasonOf(error) };
  }
}

/** The machines that held the project when a request was received, and since. */
function machinesSince({ holders, histories }: Pick<Ledger, 'holders' | 'histories'>, id: string): string[] {
  const all = holders();
  const received = histories.of(id)?.received.entry ?? 0;
  const last = all.findLastIndex(({ seq }) => seq < received);
  return [...new Set(all.slice(Math.max(0, last)).map(({ machine }) => machine))].slice(-1000);
}
