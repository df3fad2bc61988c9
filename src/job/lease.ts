import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isoTime, type Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { AppError, systemCode } from '../core/errors.ts';
import type { Database } from '../mirror/database.ts';
import { makeMissingIndexes } from '../mirror/first-pass.ts';
import { enterQueue, giveUpPlace, leaveQueue, readQueue, standInQueue, type Waiter } from '../mirror/lease-queue.ts';
import { beatLease, readLease, releaseLease, takeLease, type LeaseHolder } from '../mirror/runs.ts';
import { isGuest, whoIsAhead } from './turn-plan.ts';

/** A holder whose process cannot be looked at from here is gone when it has not beaten for this long. */
const silenceMaxMs = 60_000;
const beatEveryMs = 10_000;

/** A waiter looks for its turn so often, and says so: one that has been silent for longer than this is passed over. */
const lookEveryMs = 250;
const waiterSilenceMaxMs = 15_000;

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
  /** Is called once, with the reason, when another run takes the lease over or a beat cannot be written. */
  onLost: (error: unknown) => void;
};

/** The leases that this process has asked for, with their connections. A number of a process alone does not tell that. */
const ours = new Map<string, Database>();

/**
 * Takes the right to write, in the order of `whoIsAhead`. Throws `busy` while others have it and `untilMs` has passed. A process of
 * this machine holds it as long as it lives, however long it is silent: it may compute. One elsewhere loses it by its silence,
 * and learns of that before it writes (`refuseStaleHolder`).
 */
export async function waitForLease(
  db: Database,
  { job, clock, signal, untilMs, onWait, onLost }: Asking,
): Promise<Lease> {
  const wanted = newHolder(job, clock);
  const beat = (): NodeJS.Timeout => keepLease(db, wanted, clock, onLost);
  await takeTurn(db, wanted, { clock, signal, untilMs, onWait, hasBegun: false });
  let timer: NodeJS.Timeout | undefined = beat();
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  return {
    release: () => {
      if (timer === undefined) return;
      stop();
      ours.delete(wanted.holder);
      releaseLease(db, wanted.holder);
    },
    isHeld: () => timer !== undefined,
    isWanted: () =>
      readQueue(db).some((waiter) => isGuest(waiter.job) && !waiter.hasBegun && isAwake(waiter, clock.now())),
    giveWay: async (stopping) => {
      db.transaction(() => {
        releaseLease(db, wanted.holder);
        enterQueue(db, { ...wanted, beatAt: isoTime(clock.now()), hasBegun: true });
      }).immediate();
      stop();
      await takeTurn(db, wanted, {
        clock,
        signal: stopping,
        untilMs: Infinity,
        onWait: () => undefined,
        hasBegun: true,
      });
      timer = beat();
    },
  };
}

function newHolder(job: string, clock: Clock): LeaseHolder {
  const now = isoTime(clock.now());
  return {
    holder: randomUUID(),
    job,
    host: processSpace(),
    pid: process.pid,
    processStart: startOfProcess(process.pid),
    takenAt: now,
    beatAt: now,
  };
}

/** Says every few seconds that the holder lives. */
function keepLease(
  db: Database,
  { holder }: LeaseHolder,
  clock: Clock,
  onLost: (error: unknown) => void,
): NodeJS.Timeout {
  const timer = setInterval(() => {
    try {
      if (beatLease(db, holder, isoTime(clock.now()))) return;
      throw new AppError('another run took the data folder over', { code: 'busy', hint: 'run only one at a time' });
    } catch (error) {
      clearInterval(timer);
      onLost(error);
    }
  }, beatEveryMs);
  timer.unref();
  return timer;
}

type Turn = Pick<Asking, 'clock' | 'signal' | 'untilMs' | 'onWait'> & Pick<Waiter, 'hasBegun'>;

/** Waits until the lease is this holder's. */
async function takeTurn(
  db: Database,
  wanted: LeaseHolder,
  { clock, signal, untilMs, onWait, hasBegun }: Turn,
): Promise<void> {
  ours.set(wanted.holder, db);
  try {
    for (let looks = 0; ; looks += 1) {
      const waiter = { ...wanted, beatAt: isoTime(clock.now()), hasBegun };
      const present = tryToTake(db, waiter, clock.now());
      if (!present) break;
      if (clock.now() >= untilMs) throw busy(present);
      if (looks === 0) onWait(present);
      standInQueue(db, waiter);
      await clock.sleep(lookEveryMs, signal);
    }
  } catch (error) {
    ours.delete(wanted.holder);
    giveUpPlace(db, wanted.holder);
    throw error;
  }
  try {
    makeMissingIndexes(db);
  } catch (error) {
    ours.delete(wanted.holder);
    releaseLease(db, wanted.holder);
    throw error;
  }
}

/** Takes the lease where it is this holder's turn; else returns whoever has it, or has its turn first. */
function tryToTake(db: Database, wanted: LeaseHolder, nowMs: number): LeaseHolder | undefined {
  // Another process may write for minutes: who only looks does not wait for that.
  const holder = readLease(db);
  if (holder && !isStale(holder, nowMs)) return holder;
  const take = db.transaction(() => {
    const queue = readQueue(db);
    const awake = queue.filter((waiter) => waiter.holder === wanted.holder || isAwake(waiter, nowMs));
    const ahead = whoIsAhead(wanted, awake);
    if (ahead) return ahead;
    const present = takeLease(db, wanted, (other) => isStale(other, nowMs));
    if (present.holder !== wanted.holder) return present;
    const left = queue.filter((waiter) => waiter.holder === wanted.holder || isStale(waiter, nowMs));
    leaveQueue(
      db,
      left.map(({ holder: each }) => each),
    );
    return undefined;
  });
  return take.immediate();
}

function busy({ job, pid, host, takenAt }: LeaseHolder): AppError {
  return new AppError(`another run holds the data folder: ${job}, process ${pid} on ${host}, since ${takenAt}`, {
    code: 'busy',
    hint: 'try again when it has ended, or add --wait',
  });
}

/**
 * Where this process's number means this process and no other: the name of the machine and, on Linux, a digest of its boot
 * and of the pid namespace. Containers share names, and each has a process 1.
 */
export function processSpace(): string {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const pidNamespace = readlinkSync('/proc/self/ns/pid');
    return `${hostname()} (${sha256(`${bootId} ${pidNamespace}`).slice(0, 8)})`;
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return hostname();
  }
}

/** The present holder where it lives. A process that was killed leaves the lease behind. */
export function livingHolder(db: Database, nowMs: number): LeaseHolder | undefined {
  const present = readLease(db);
  return present && isLiving(present, nowMs) ? present : undefined;
}

/** Whoever lives of those who have begun a run: the holder, and passes that have given way to it. */
export function livingRuns(db: Database, nowMs: number): LeaseHolder[] {
  const holder = livingHolder(db, nowMs);
  const away = readQueue(db).filter((waiter) => waiter.hasBegun && isLiving(waiter, nowMs));
  return [...(holder ? [holder] : []), ...away];
}

/** Whether nobody who lives stands for it. A lease of this process's number that it has not asked for was an earlier process's. */
function isStale(asked: LeaseHolder, nowMs: number): boolean {
  const isOwn = asked.host === processSpace() && asked.pid === process.pid;
  return !isLiving(asked, nowMs) || (isOwn && ours.get(asked.holder)?.open !== true);
}

/** Whether a waiter takes its turn when that comes: a process that is stopped lives, and does not. */
function isAwake(waiter: Waiter, nowMs: number): boolean {
  return !isStale(waiter, nowMs) && Math.abs(nowMs - Date.parse(waiter.beatAt)) <= waiterSilenceMaxMs;
}

function isLiving({ host, pid, processStart, beatAt }: LeaseHolder, nowMs: number): boolean {
  if (host === processSpace()) {
    const start = startOfProcess(pid);
    if (start === 'gone') return false;
    if (start !== null && processStart !== null) return start === processStart;
  }
  // A beat in the future was made by a clock that was wrong: a living holder makes another one within seconds.
  return Math.abs(nowMs - Date.parse(beatAt)) <= silenceMaxMs;
}

/**
 * When a process began, in the words of its system: with its number, that names one process until the machine starts again.
 * `gone` where no process of that number runs, null where the system does not say.
 */
function startOfProcess(pid: number): string | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemCode(error) !== 'EPERM') return 'gone';
  }
  try {
    const [state = '', start = ''] = process.platform === 'linux' ? statOf(pid) : psOf(pid);
    // A zombie is a process that has ended and whose parent has not asked how.
    return state.startsWith('Z') ? 'gone' : start || null;
  } catch {
    return null;
  }
}

/** The state and the start (field 22: ticks since the machine's start) of a process. Its name may hold blanks and brackets. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [fields[0] ?? '', fields[19] ?? ''];
}

function psOf(pid: number): string[] {
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' };
  const line = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { env, encoding: 'utf8' }).trim();
  return line.split(/\s+(.*)/);
}
