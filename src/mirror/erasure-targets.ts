import type { Database } from 'better-sqlite3';
import { readTarget, spellTarget, type Target } from '../ledger/target.ts';
import { prepared } from './prepared.ts';
import { assignmentsOf } from './tables.ts';
import type { Assurance, AttentionReason, TargetResult, TargetStatus } from '../ledger/vocabulary.ts';

/** One thing that a request has to reach. Times are ISO 8601 UTC. */
export type ErasureTarget = {
  requestId: string;
  target: Target;
  status: TargetStatus;
  /** How it ended, and how far that can be believed; null before. */
  result: TargetResult | null;
  assurance: Assurance | null;
  /** Why it is in attention. */
  reason: AttentionReason | null;
  /** Rows that it was expected to hold. */
  rows: number | null;
  attempts: number;
  /** How often the service said that there is nothing left, and when it last did. */
  confirmations: number;
  confirmedAt: string | null;
  /** Not worth another attempt before. */
  notBefore: string | null;
  /** When that wait began, by the later of both clocks; null where it is a time that somebody else has said. */
  waitFrom: string | null;
  /** When the service showed the person, if it did when it was last asked. */
  seenAt: string | null;
  /** When the newest of those who were sent for deletion was created, by the service's clock. */
  sentCreatedAt: string | null;
  /** Of the person: by when, by the service's clock, the first deletion was sent; null before, or where no answer told. */
  sentBy: string | null;
  /** Of events: after when, by the service's clock, a deletion that it has queued can be this request's; null before one is sent. */
  ownAfter: string | null;
  /** Of events: how many persons were sent for deletion; null before. */
  personsSent: number | null;
  /** How many rows the service was asked to delete, each by its id. */
  sentRows: number;
  updatedAt: string;
};

const columns = /*sql*/ `request_id AS requestId, target, status, result, assurance, reason, rows, attempts, confirmations,
  confirmed_at AS confirmedAt, not_before AS notBefore, wait_from AS waitFrom, seen_at AS seenAt, sent_created_at AS sentCreatedAt,
  sent_by AS sentBy, own_after AS ownAfter, persons_sent AS personsSent, sent_rows AS sentRows, updated_at AS updatedAt`;

type TargetRow = Omit<ErasureTarget, 'target'> & { target: string };

/** The targets that a condition, with its order, holds for. */
function selectTargets(db: Database, where: string, ...values: string[]): ErasureTarget[] {
  const sql = /*sql*/ `SELECT ${columns} FROM erasure_targets WHERE ${where}`;
  const rows = prepared<string[], TargetRow>(db, sql).all(...values);
  return rows.map((row) => Object.assign(row, { target: readTarget(row.target) }));
}

/** The targets of one request, by name. */
export function listTargets(db: Database, requestId: string): ErasureTarget[] {
  return selectTargets(db, /*sql*/ `request_id = ? ORDER BY target`, requestId);
}

/** The targets that are not done, of all requests that are fenced and have not ended without them. */
export function listOpenTargets(db: Database): ErasureTarget[] {
  const sealed = /*sql*/ `SELECT id FROM erasure_requests WHERE sealed_at IS NOT NULL`;
  return selectTargets(db, /*sql*/ `status <> 'done' AND request_id NOT IN (${sealed}) ORDER BY target, request_id`);
}

/** Adds a target; one that the request has already stays as it is. */
export function addTarget(db: Database, requestId: string, target: Target, rows: number | null, at: string): void {
  const sql = /*sql*/ `INSERT OR IGNORE INTO erasure_targets (request_id, target, status, rows, updated_at)
    VALUES (?, ?, 'pending', ?, ?)`;
  prepared(db, sql).run(requestId, spellTarget(target), rows, at);
}

/** Adds a target. A target that the request has already begins again. */
export function renewTarget(db: Database, requestId: string, target: Target, rows: number | null, at: string): void {
  addTarget(db, requestId, target, rows, at);
  restartTarget(db, requestId, target, at);
}

/** Begins a target again, as if nothing had been done or said about it. Throws when the request has no such target. */
export function restartTarget(db: Database, requestId: string, target: Target, at: string): void {
  const forgotten = { result: null, assurance: null, reason: null, attempts: 0, confirmations: 0, confirmedAt: null };
  const unsent = { sentCreatedAt: null, sentBy: null, ownAfter: null, personsSent: null, sentRows: 0 };
  const unasked = { ...unsent, notBefore: null, waitFrom: null, seenAt: null };
  changeTarget(db, requestId, target, { status: 'pending', ...forgotten, ...unasked }, at);
}

/** How far a target of a request is. Throws when the request has no such target. */
export function statusOf(db: Database, requestId: string, target: Target): TargetStatus {
  const sql = /*sql*/ `SELECT status FROM erasure_targets WHERE request_id = ? AND target = ?`;
  const status = prepared<[string, string], TargetStatus>(db, sql).pluck().get(requestId, spellTarget(target));
  if (!status) throw new Error('a request without that target');
  return status;
}

/** What may be changed of a target; what is not given stays. */
export type TargetChange = Partial<Omit<ErasureTarget, 'requestId' | 'target' | 'rows' | 'updatedAt'>>;

/** Changes a target of one request. Throws when the request has no such target. */
export function changeTarget(db: Database, requestId: string, target: Target, change: TargetChange, at: string): void {
  const values = { ...change, updatedAt: at };
  const sql = /*sql*/ `UPDATE erasure_targets SET ${assignmentsOf(values)}
    WHERE request_id = @requestId AND target = @target`;
  const changed = prepared(db, sql).run({ ...values, requestId, target: spellTarget(target) });
  if (changed.changes !== 1) throw new Error('a request without that target');
}
