import type { Database } from 'better-sqlite3';
import { isoTime } from '../core/clock.ts';
import { isAgreed, type Present } from '../core/present.ts';
import { transact } from './transact.ts';

/**
 * What the last answer that told the service's time has said: when it was, by this machine's clock, and how far that was ahead.
 * `agreedAt`: the newest present at which both agreed. Times are ISO 8601 UTC.
 */
export type ServiceClock = { lookedAt: string; aheadMs: number; agreedAt: string | null };

/** Reads it; undefined where no answer has told a time yet. */
export function readServiceClock(db: Database): ServiceClock | undefined {
  const sql = /*sql*/ `SELECT looked_at AS lookedAt, ahead_ms AS aheadMs, agreed_at AS agreedAt FROM service_clock`;
  return db.prepare<[], ServiceClock>(sql).get();
}

/** The newest time, in milliseconds since 1970, at which both clocks agreed; 0 before any. */
export function agreedMs(db: Database): number {
  return Date.parse(readServiceClock(db)?.agreedAt ?? isoTime(0));
}

/** Notes how the clocks stand. Does nothing where no answer has told a time. */
export function noteServiceClock(db: Database, { earliestMs, aheadMs }: Present, lookedAt: string): void {
  if (aheadMs === null) return;
  const agreedAt = isAgreed(aheadMs) ? isoTime(earliestMs) : null;
  const sql = /*sql*/ `INSERT INTO service_clock (only_row, looked_at, ahead_ms, agreed_at)
    VALUES (1, @lookedAt, @aheadMs, @agreedAt)
    ON CONFLICT DO UPDATE SET looked_at = @lookedAt, ahead_ms = @aheadMs, agreed_at = coalesce(@agreedAt, agreed_at)`;
  db.prepare(sql).run({ lookedAt, aheadMs: Math.round(aheadMs), agreedAt });
}

/**
 * Begins each wait anew that began later than the present can be (ISO 8601 UTC): a clock that was wrong has set it. It is as long
 * as it was. Lives begin at `lifeFrom` where they have no beginning, or a later one; null where clocks do not agree.
 */
export function beginWaitsAnew(db: Database, latest: string, lifeFrom: string | null): void {
  const waits = db.prepare<
    [string],
    { requestId: string; target: string; notBefore: string; waitFrom: string }
  >(/*sql*/ `SELECT request_id AS requestId, target, not_before AS notBefore, wait_from AS waitFrom FROM erasure_targets
      WHERE status <> 'done' AND wait_from > ? AND not_before > wait_from`);
  const begin = db.prepare(/*sql*/ `UPDATE erasure_targets SET not_before = @notBefore, wait_from = @latest
    WHERE request_id = @requestId AND target = @target`);
  const confirm = db.prepare(/*sql*/ `UPDATE suspects SET confirmed_at = @latest WHERE confirmed_at > @latest`);
  const live = db.prepare(/*sql*/ `UPDATE erasure_requests SET life_from = @lifeFrom
    WHERE sealed_at IS NULL AND cancelled_at IS NULL AND refused_at IS NULL
      AND (life_from IS NULL OR life_from > @lifeFrom)`);
  transact(db, () => {
    for (const { requestId, target, notBefore, waitFrom } of waits.all(latest)) {
      const lastsMs = Date.parse(notBefore) - Date.parse(waitFrom);
      begin.run({ requestId, target, latest, notBefore: isoTime(Date.parse(latest) + lastsMs) });
    }
    confirm.run({ latest });
    if (lifeFrom !== null) live.run({ lifeFrom });
  });
}
