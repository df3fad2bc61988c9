import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Database } from 'better-sqlite3';
import { isoTime, type Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { AppError, systemCode } from '../core/errors.ts';

/** Who holds the right to write. Times are ISO 8601 UTC. */
export type LeaseHolder = { holder: string; job: string; host: string; pid: number; takenAt: string; beatAt: string };

const columns = /*sql*/ `holder, job, host, pid, taken_at AS takenAt, beat_at AS beatAt`;

/** The present holder, if there is one. */
export function readLease(db: Database): LeaseHolder | undefined {
  return db.prepare<[], LeaseHolder>(/*sql*/ `SELECT ${columns} FROM lease`).get();
}

/** The tokens under which connections of this process hold the lease. */
const tokens = new WeakMap<Database, number>();

/**
 * Takes the lease when nobody holds it, or when `isStale` says so of its holder. Returns whoever holds it now. Each
 * time it is taken it has a greater token, by which what this connection writes is known from what a holder before it
 * would still write.
 */
export function takeLease(db: Database, wanted: LeaseHolder, isStale: (present: LeaseHolder) => boolean): LeaseHolder {
  return db
    .transaction(() => {
      const present = readLease(db);
      if (present && !isStale(present)) return present;
      db.prepare(/*sql*/ `INSERT OR REPLACE INTO lease (only_row, holder, job, host, pid, taken_at, beat_at)
        VALUES (1, @holder, @job, @host, @pid, @takenAt, @beatAt)`).run(wanted);
      const token = db
        .prepare<[], number>(/*sql*/ `UPDATE lease_token SET token = token + 1 RETURNING token`)
        .pluck()
        .get();
      if (token === undefined) throw new Error('the mirror has no token for its lease');
      tokens.set(db, token);
      return wanted;
    })
    .immediate();
}

/** Says that the holder lives. Returns whether it still holds the lease. */
export function beatLease(db: Database, holder: string, at: string): boolean {
  return db.prepare(/*sql*/ `UPDATE lease SET beat_at = ? WHERE holder = ?`).run(at, holder).changes === 1;
}

/**
 * Called in the transaction of every write of a job. Throws `busy` when this connection held the lease and somebody has taken it over since: whatever belongs to the
 * same transaction is then not written. A connection that never held it is let pass.
 */
export function refuseStaleHolder(db: Database): void {
  const held = tokens.get(db);
  if (held === undefined) return;
  const present = db.prepare<[], number>(/*sql*/ `SELECT token FROM lease_token`).pluck().get();
  if (present !== held)
    throw new AppError('another run took the data folder over', { code: 'busy', hint: 'run only one at a time' });
}

/** Gives the lease back; nothing happens when somebody else holds it. */
export function releaseLease(db: Database, holder: string): void {
  tokens.delete(db);
  db.prepare(/*sql*/ `DELETE FROM lease WHERE holder = ?`).run(holder);
}

/** A holder that has not beaten for this long is gone. */
const silenceMaxMs = 60_000;
const beatEveryMs = 10_000;

/** The right to write into a data folder, held until released. */
export type Lease = { release(): void };

/**
 * Takes the right to write. Throws `busy` while another living process holds it; one that died without giving it back is
 * told by its process being gone, where its number can be asked for, or by its silence. `onLost` is called once, with the
 * reason, when somebody else takes it over or the mirror can no longer be told that this holder lives.
 */
export function acquireLease(db: Database, job: string, clock: Clock, onLost: (error: unknown) => void): Lease {
  const now = isoTime(clock.now());
  const wanted: LeaseHolder = {
    holder: randomUUID(),
    job,
    host: processSpace(),
    pid: process.pid,
    takenAt: now,
    beatAt: now,
  };
  const present = takeLease(db, wanted, (holder) => isStale(holder, clock.now()));
  if (present.holder !== wanted.holder)
    throw new AppError(
      `another run holds the data folder: ${present.job}, process ${present.pid} on ${present.host}, since ${present.takenAt}`,
      { code: 'busy', hint: 'wait until it ends, or end that process' },
    );
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

function isStale({ host, pid, beatAt }: LeaseHolder, nowMs: number): boolean {
  // One that lies in the future was made by a clock that was wrong: who lives makes another within seconds.
  if (Math.abs(nowMs - Date.parse(beatAt)) > silenceMaxMs) return true;
  // Elsewhere, the number is another process's, or nobody's, whether the holder lives or not.
  if (host !== processSpace()) return false;
  // One of ours would not ask.
  return pid === process.pid || !isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
