import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isoTime, type Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { AppError, systemCode } from '../core/errors.ts';
import type { Database } from '../mirror/database.ts';
import { makeMissingIndexes } from '../mirror/first-pass.ts';
import { beatLease, readLease, releaseLease, takeLease, type LeaseHolder } from '../mirror/runs.ts';

/** A holder whose process cannot be looked at from here is gone when it has not beaten for this long. */
const silenceMaxMs = 60_000;
const beatEveryMs = 10_000;

/** The right to write into a data folder, held until released. */
export type Lease = { release(): void };

/**
 * Takes the right to write. Throws `busy` while another process holds it. A process of this machine holds it as long as it
 * lives, however long it is silent: it may compute. One elsewhere loses it by its silence, and learns of that before it
 * writes (`refuseStaleHolder`). `onLost` is called once, with the reason, when another run takes the lease over or a beat
 * cannot be written.
 */
export function acquireLease(db: Database, job: string, clock: Clock, onLost: (error: unknown) => void): Lease {
  const now = isoTime(clock.now());
  const wanted: LeaseHolder = {
    holder: randomUUID(),
    job,
    host: processSpace(),
    pid: process.pid,
    processStart: startOfProcess(process.pid),
    takenAt: now,
    beatAt: now,
  };
  const present = takeLease(db, wanted, (holder) => isStale(holder, clock.now()));
  if (present.holder !== wanted.holder)
    throw new AppError(
      `another run holds the data folder: ${present.job}, process ${present.pid} on ${present.host}, since ${present.takenAt}`,
      { code: 'busy', hint: 'try again when it has ended, or add --wait' },
    );
  makeMissingIndexes(db);
  const timer = setInterval(() => {
    try {
      if (beatLease(db, wanted.holder, isoTime(clock.now()))) return;
      throw new AppError('another run took the data folder over', { code: 'busy', hint: 'run only one at a time' });
    } catch (error) {
      clearInterval(timer);
      onLost(error);
    }
  }, beatEveryMs);
  timer.unref();
  return {
    release: () => {
      clearInterval(timer);
      releaseLease(db, wanted.holder);
    },
  };
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

function isStale(holder: LeaseHolder, nowMs: number): boolean {
  // This process would not ask for a lease that it holds: its number was an earlier process's.
  return !isLiving(holder, nowMs) || (holder.host === processSpace() && holder.pid === process.pid);
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
