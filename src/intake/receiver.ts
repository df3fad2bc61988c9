import { statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import { AppError, type ErrorCode } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { receiveOnce, type OnceRequest, type ReceivedOnce } from '../erasure/receive-once.ts';
import { refuseRestored } from '../erasure/fence/restore-guard.ts';
import { signReceipts, type Receipt } from '../erasure/request/receipt.ts';
import { together } from '../erasure/request/together.ts';
import type { JobContext } from '../job/job-context.ts';
import { momentaryJob, waitForLease } from '../job/lease.ts';
import { refuseLostLedger } from '../job/lost-ledger.ts';
import { presentRun } from '../job/run-job.ts';
import { entriesPath, ledgerFolder } from '../ledger/entry-file.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { isUnproved, type RequestHistory } from '../ledger/request-history.ts';
import { refuseReplaced } from '../mirror/database.ts';
import { waitingAtMost } from '../mirror/transact.ts';
import { claimMirror } from '../mirror/runs.ts';

/** What is asked of the ledger: to receive a request, or how far one is. */
export type Asked = { receive: OnceRequest } | { find: string };

/** What a request's sender may be told of it, later. */
export type Found = Pick<RequestHistory, 'request' | 'isAccess' | 'state' | 'reason' | 'dueAt'> & {
  receivedAt: string;
  endedAt: string | null;
  isUnproved: boolean;
};

/** What came of it. `unavailable`: nothing is known of it; it may be done all the same. With `isKnown` it is. */
export type Told =
  | { receipt: Receipt; found: Found; isKnown: boolean }
  | { found: Found | undefined }
  | { refused: Extract<ReceivedOnce, string> }
  | { unavailable: ErrorCode | 'unexpected'; isKnown?: boolean };

/** Takes what senders ask for to the ledger of one project. */
export type Receiver = {
  /** Resolves when it is on the ledger for good, or is not. */
  ask: (asked: Asked) => Promise<Told>;
  /** Resolves when what was asked before is told. */
  close: () => Promise<void>;
};

/** So many wait at most, and so many are taken up together; so long they wait for a run of another process. */
const bounds = { waiting: 1_000, atOnce: 100, waitMs: 60_000, lookEveryMs: 100, leaseMs: 250, lockMs: 100 };

type Waiting = { asked: Asked; sinceMs: number; tell: (told: Told) => void };
/** A ledger that was opened here, and how long its file was then: another run may have made it longer. */
type OpenedLedger = { ledger: Ledger; bytes: number };

/**
 * Starts a receiver. What comes in while a run of this process goes on is received between two of its steps, under its lease; else under
 * a lease of its own, for a moment. Many are one write to the disk, and one signature.
 */
export function startReceiver(contextOf: (signal: AbortSignal) => JobContext, clock: Clock): Receiver {
  const stopping = new AbortController();
  const waiting: Waiting[] = [];
  let opened: OpenedLedger | undefined;
  let underWay: Promise<void> | undefined;

  const takeUp = async (): Promise<void> => {
    while (waiting.length > 0) {
      try {
        opened = await takeTurn(contextOf(stopping.signal), waiting, opened);
      } catch (error) {
        opened = undefined;
        for (const { tell } of waiting.splice(0)) tell({ unavailable: codeOf(error) });
      }
    }
    underWay = undefined;
  };
  return {
    ask: (asked) => {
      if (stopping.signal.aborted) return Promise.resolve({ unavailable: 'interrupted' });
      if (waiting.length >= bounds.waiting) waiting.shift()?.tell({ unavailable: 'busy' });
      const { promise, resolve } = Promise.withResolvers<Told>();
      waiting.push({ asked, sinceMs: clock.now(), tell: resolve });
      underWay ??= takeUp();
      return promise;
    },
    close: async () => {
      stopping.abort(new AppError('interrupted', { code: 'interrupted' }));
      await underWay;
    },
  };
}

/** Takes some up, where that can be done now, or waits for a moment. Returns the ledger that is open then. */
async function takeTurn(
  context: JobContext,
  waiting: Waiting[],
  opened: OpenedLedger | undefined,
): Promise<OpenedLedger | undefined> {
  const { db, clock, signal } = context;
  // So that what comes in at the same moment is taken up together.
  await setImmediate();
  const oldestMs = clock.now() - bounds.waitMs;
  const kept = waiting.splice(0).filter(({ sinceMs, tell }) => {
    if (sinceMs < oldestMs) tell({ unavailable: 'busy' });
    return sinceMs >= oldestMs;
  });
  waiting.push(...kept);
  const run = presentRun(db);
  if (run) {
    serve(run, newest(waiting));
    return undefined;
  }
  if (db.inTransaction) {
    await clock.sleep(bounds.lookEveryMs, signal);
    return opened;
  }
  const asking = { job: momentaryJob, clock, signal, untilMs: clock.now() + bounds.leaseMs, onWait: () => undefined };
  const lease = await waitForLease(db, asking).catch((error: unknown) => {
    if (codeOf(error) !== 'busy') throw error;
    return undefined;
  });
  if (!lease) return opened;
  try {
    const { ledger } = await openOwn(context, opened);
    serve({ ...context, ledger: () => ledger }, newest(waiting));
    return { ledger, bytes: bytesOf(context) };
  } finally {
    lease.release();
  }
}

/** Those who came last are still waited for: under more calls than can be served, first come would be first given up. */
function newest(waiting: Waiting[]): Waiting[] {
  return waiting.splice(-bounds.atOnce);
}

/** The ledger under a lease of this receiver's own: the one from before, where nobody has written since. */
async function openOwn(context: JobContext, opened: OpenedLedger | undefined): Promise<{ ledger: Ledger }> {
  const { db, settings, signal, project } = context;
  if (opened?.bytes === bytesOf(context)) return opened;
  const ledger = (await context.openLedger?.(signal)) ?? context.ledger();
  refuseLostLedger(settings.dataDir, ledger);
  if (project) claimMirror(db, project, settings.service.movedFrom);
  return { ledger };
}

function bytesOf({ settings }: JobContext): number {
  return statSync(entriesPath(ledgerFolder(settings.dataDir)), { throwIfNoEntry: false })?.size ?? 0;
}

/** Does what is asked, at once, and tells it. It is told only when it is on the ledger for good. */
function serve(context: JobContext, batch: readonly Waiting[]): void {
  try {
    const told = waitingAtMost(context.db, bounds.lockMs, () => answerAll(context, batch));
    for (const [at, { tell }] of batch.entries()) tell(told[at] ?? { unavailable: 'unexpected' });
  } catch (error) {
    const code = codeOf(error);
    context.log.error({ code }, 'the intake could not write to the ledger');
    for (const { tell } of batch) tell({ unavailable: code });
  }
}

function answerAll(context: JobContext, batch: readonly Waiting[]): Told[] {
  refuseReplaced(context.db);
  const ledger = context.ledger();
  refuseRestored(context.db, ledger);
  const found = together(context, (own) =>
    batch.map(({ asked }) => ('receive' in asked ? receiveOnce(own, withSettings(own, asked.receive)) : asked.find)),
  );
  const keys = found.flatMap((each) => (typeof each === 'object' ? [each.key] : []));
  const receipts = new Map(signReceipts(context, keys, 'received').map((receipt) => [receipt.request, receipt]));
  return found.map((each, at): Told => {
    if (typeof each === 'object') {
      const { key, isKnown } = each;
      const [receipt, known] = [receipts.get(key.request), foundOf(ledger.histories.of(key.request))];
      return receipt && known ? { receipt, found: known, isKnown } : { unavailable: 'unexpected' };
    }
    const { asked } = batch[at] ?? {};
    return asked && 'receive' in asked ? { refused: each as 'other' } : { found: foundOf(ledger.histories.of(each)) };
  });
}

/** Events are deleted only where the settings say so too. */
function withSettings({ settings }: JobContext, request: OnceRequest): OnceRequest {
  const { authority } = request;
  const deleteEvents = authority.deleteEvents && settings.erasure.deleteEvents;
  return { ...request, authority: { ...authority, deleteEvents } };
}

function foundOf(history: RequestHistory | undefined): Found | undefined {
  if (!history) return undefined;
  const { request, isAccess, state, reason, dueAt, received, sealed, targets } = history;
  const endedAt = sealed?.at ?? history.endedAt;
  const told = { request, isAccess, state, reason, dueAt, receivedAt: received.at, endedAt };
  return { ...told, isUnproved: isUnproved(history, targets.values()) };
}

function codeOf(error: unknown): ErrorCode | 'unexpected' {
  if (error instanceof AppError) return error.code;
  return explainStorageError(error, '')?.code ?? 'unexpected';
}
