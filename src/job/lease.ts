import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { isoTime, type Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { secondText } from '../core/words.ts';
import { refuseReplaced, type Database } from '../mirror/database.ts';
import { isLocked, lockFile } from '../mirror/file-lock.ts';
import { makeMissingIndexes } from '../mirror/first-pass.ts';
import {
  enterQueue,
  giveUpPlace,
  leaveQueue,
  readLease,
  readQueue,
  removeLease,
  standInQueue,
  writeLease,
  type LeaseHolder,
  type Waiter,
} from '../mirror/lease-rows.ts';
import { transact } from '../mirror/transact.ts';
import { isGuestOf, whoIsAhead } from './turn-plan.ts';

/** A waiter looks for its turn so often, and says so: one that has been silent for longer than this is passed over. */
const lookEveryMs = 250;
const waiterSilenceMaxMs = 15_000;

/** The job of who has the lease for a moment only: no run gives up because of it until it has had it for so long. */
export const momentaryJob = 'intake';
const momentMs = 2_000;

/** A run whose turn it is waits so long for the lock. A reader that looks whether the file is locked has the lock for less than a millisecond. */
const lockWaitMs = 10;

/** The right to write into a data folder, held until released. */
export type Lease = {
  /** Gives it back, where it is held. */
  release: () => void;
  isHeld: () => boolean;
  /** Whether a guest waits for it. Costs next to nothing: to be asked between two pages. */
  isWanted: () => boolean;
  /** Gives it to the guests who wait now, and resolves once it is held again. Rejects with the signal's reason, and is not held then. */
  giveWay: (signal: AbortSignal) => Promise<void>;
};

/** How a run asks for the lease. `untilMs`: how long it waits for its turn. `onWait` hears once for whom. */
type Asking = {
  job: string;
  clock: Clock;
  signal: AbortSignal;
  untilMs: number;
  onWait: (present: LeaseHolder) => void;
};

/**
 * Takes the right to write, in the order of `whoIsAhead`. Throws `busy` while others have it and `untilMs` has passed, and `storage`. It is a lock of
 * the system: a process has it until it gives it back or ends, however long it is silent, and whatever a clock says.
 */
export async function waitForLease(db: Database, { job, clock, signal, untilMs, onWait }: Asking): Promise<Lease> {
  const wanted = { holder: randomUUID(), job, host: hostname(), pid: process.pid, takenAt: isoTime(clock.now()) };
  let lock: Disposable | undefined = await takeTurn(db, wanted, { clock, signal, untilMs, onWait, hasBegun: false });
  const unlock = (): void => {
    lock?.[Symbol.dispose]();
    lock = undefined;
  };
  return {
    release: () => {
      if (lock === undefined) return;
      try {
        removeLease(db, wanted.holder);
      } finally {
        unlock();
      }
    },
    isHeld: () => lock !== undefined,
    isWanted: () => readQueue(db).some((waiter) => isGuestOf(job, waiter) && isAwake(waiter, clock.now())),
    giveWay: async (stopping) => {
      transact(db, () => {
        removeLease(db, wanted.holder);
        enterQueue(db, { ...wanted, beatAt: isoTime(clock.now()), hasBegun: true });
      });
      unlock();
      const turn = { clock, signal: stopping, untilMs: Infinity, onWait: () => undefined, hasBegun: true };
      lock = await takeTurn(db, wanted, turn);
    },
  };
}

type Turn = Pick<Asking, 'clock' | 'signal' | 'untilMs' | 'onWait'> & Pick<Waiter, 'hasBegun'>;

/** Waits until the lease is this holder's, and returns its lock. */
async function takeTurn(
  db: Database,
  wanted: LeaseHolder,
  { clock, signal, untilMs, onWait, hasBegun }: Turn,
): Promise<Disposable> {
  const beganMs = clock.now();
  try {
    for (let looks = 0; ; looks += 1) {
      const waiter = { ...wanted, beatAt: isoTime(clock.now()), hasBegun };
      const taken = tryToTake(db, waiter, clock.now());
      if (Symbol.dispose in taken) return taken;
      if (clock.now() >= Math.max(untilMs, taken.job === momentaryJob ? beganMs + momentMs : 0)) throw busy(taken);
      if (looks === 0) onWait(taken);
      standInQueue(db, waiter);
      await clock.sleep(lookEveryMs, signal);
    }
  } catch (error) {
    giveUpPlace(db, wanted.holder);
    throw error;
  }
}

/** Takes the lease if it is this holder's turn. Otherwise returns the run that has the lease, or the run whose turn comes first. */
function tryToTake(db: Database, wanted: Waiter, nowMs: number): Disposable | LeaseHolder {
  const queue = readQueue(db);
  const awake = queue.filter((waiter) => waiter.holder === wanted.holder || isAwake(waiter, nowMs));
  const ahead = whoIsAhead(wanted, awake);
  if (ahead) return ahead;
  // First: a lock makes its folder, and one that was moved away could not come back to its place.
  refuseReplaced(db);
  const lock = lockFile(lockOf(db), lockWaitMs);
  // Who has it writes who it is a moment later.
  if (!lock) return readLease(db) ?? { ...wanted, job: 'another run' };
  try {
    const left = queue.filter((waiter) => waiter.holder === wanted.holder || !isAwake(waiter, nowMs));
    transact(db, () => {
      writeLease(db, wanted);
      leaveQueue(
        db,
        left.map(({ holder }) => holder),
      );
    });
    makeMissingIndexes(db);
    return lock;
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

function busy({ job, pid, host, takenAt }: LeaseHolder): AppError {
  return new AppError(
    `another run holds the data folder: ${job}, process ${pid} on ${host}, since ${secondText(takenAt)}`,
    { code: 'busy', hint: 'try again when it has ended, or add --wait' },
  );
}

/** The file whose lock is the lease. */
function lockOf(db: Database): string {
  return join(dirname(db.name), 'mirror.lock');
}

/** The present holder where there is one. A process that was killed leaves its row behind, and no lock. */
export function presentHolder(db: Database): LeaseHolder | undefined {
  const last = readLease(db);
  return last && isLocked(lockOf(db)) ? last : undefined;
}

/** Those who have begun a run: the holder, and passes that have given way to it. */
export function runsUnderWay(db: Database, nowMs: number): LeaseHolder[] {
  const holder = presentHolder(db);
  const away = readQueue(db).filter((waiter) => waiter.hasBegun && isAwake(waiter, nowMs));
  return [...(holder ? [holder] : []), ...away];
}

/** Whether a waiter takes its turn when that comes: a process that is stopped, or was killed, does not. */
function isAwake({ beatAt }: Waiter, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(beatAt)) <= waiterSilenceMaxMs;
}
