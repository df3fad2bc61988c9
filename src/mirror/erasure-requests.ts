import type { Database } from 'better-sqlite3';
import { isDatedAhead } from '../core/present.ts';
import { isHere, type ElsewhereTarget } from '../ledger/target.ts';
import {
  basisCode,
  type Origin,
  type RequestReason,
  type RequestState,
  type WaitReason,
} from '../ledger/vocabulary.ts';
import { addTarget, listTargets, type ErasureTarget } from './erasure-targets.ts';
import type { StaysOut } from './listed-again.ts';
import { markPurgeOwed } from './purge.ts';
import { prepared } from './prepared.ts';
import { hasBox, readHolders, removeBoxParts } from './request-box.ts';
import { assignmentsOf } from './tables.ts';
import { transact } from './transact.ts';

/** A request to erase one subject, or for access. The subject's identifiers are in the box. Times are ISO 8601 UTC. */
export type ErasureRequest = {
  id: string;
  generation: number;
  /** Whether it is for access: such a request is in no list of requests for erasure. */
  isAccess: boolean;
  origin: Origin;
  /** As given: a code of the one who runs this, in any words. */
  basis: string;
  authorisedBy: string | null;
  deleteEvents: boolean;
  state: RequestState;
  reason: RequestReason | null;
  receivedAt: string;
  dueAt: string;
  scopedAt: string | null;
  heldAt: string | null;
  approvedAt: string | null;
  refusedAt: string | null;
  cancelledAt: string | null;
  fencedAt: string | null;
  epoch: number | null;
  verifiedAt: string | null;
  eventsExpectedBy: string | null;
  certifiedAt: string | null;
  sealedAt: string | null;
  persons: number | null;
  distinctIds: number | null;
  recordings: number | null;
  /** Since when its life counts; null before a reconciliation in which the clocks agreed. */
  lifeFrom: string | null;
  /** When its life was over before it had come to its end. */
  lifeEndedAt: string | null;
  /** Until when its certificate says that the feed of deletions names its rows. */
  listedUntil: string | null;
  /** When the service listed the person again, after it had said that the person is gone. */
  listedAgainPass: number | null;
  /** Why the row that a deletion at the service had taken out, and that is listed again, stays out. */
  staysOut: StaysOut | null;
  /** Why it cannot go on by itself, beside its reason, and since when. */
  waitsFor: WaitReason | null;
  waitsSince: string | null;
  /** How many published files were searched before it was refused. */
  searchedFiles: number | null;
  /** The earlier request that erased the same person. */
  erasedBy: string | null;
};

const columns = /*sql*/ `id, generation, is_access AS isAccess, origin, basis, authorised_by AS authorisedBy, delete_events AS deleteEvents,
  state, reason, received_at AS receivedAt, due_at AS dueAt, scoped_at AS scopedAt, held_at AS heldAt,
  approved_at AS approvedAt, refused_at AS refusedAt, cancelled_at AS cancelledAt, fenced_at AS fencedAt, epoch,
  verified_at AS verifiedAt, events_expected_by AS eventsExpectedBy, certified_at AS certifiedAt, sealed_at AS sealedAt,
  persons, distinct_ids AS distinctIds, recordings, life_from AS lifeFrom, life_ended_at AS lifeEndedAt,
  listed_until AS listedUntil,
  listed_again_pass AS listedAgainPass, stays_out AS staysOut,
  waits_for AS waitsFor, waits_since AS waitsSince, searched_files AS searchedFiles, erased_by AS erasedBy`;

type RequestRow = Omit<ErasureRequest, 'deleteEvents' | 'isAccess'> & { deleteEvents: 0 | 1; isAccess: 0 | 1 };

function requestOf(row: RequestRow): ErasureRequest {
  return { ...row, deleteEvents: row.deleteEvents === 1, isAccess: row.isAccess === 1 };
}

/** States in which nothing more will happen. */
export const finalStates: readonly RequestState[] = ['refused', 'cancelled', 'sealed'];

/** States in which a request waits for nothing more; the identifiers of one that is certified are still to be destroyed. */
export const endedStates: readonly RequestState[] = [...finalStates, 'certified'];

/** Every request for erasure, or for access, oldest first; only the open ones where asked. */
export function listRequests(
  db: Database,
  which: 'all' | 'open',
  about: 'erasure' | 'access' = 'erasure',
): ErasureRequest[] {
  const filter = which === 'all' ? '' : `AND state NOT IN (${finalStates.map((state) => `'${state}'`).join(', ')})`;
  const sql = /*sql*/ `SELECT ${columns} FROM erasure_requests WHERE is_access = ? ${filter} ORDER BY received_at, id`;
  const rows = prepared<[number], RequestRow>(db, sql).all(about === 'access' ? 1 : 0);
  return rows.map(requestOf);
}

/** Adds a target to each request that is fenced and not certified. One that has it already keeps it as it is. */
export function addTargetToFenced(db: Database, target: ElsewhereTarget, at: string): void {
  for (const { id, fencedAt, certifiedAt } of listRequests(db, 'open')) {
    if (fencedAt === null || certifiedAt !== null) continue;
    addTarget(db, id, target, null, at);
    updateRequest(db, id, {});
  }
}

/** One request by its id, or by the beginning of it where no other begins so. */
export function findRequest(db: Database, idOrPrefix: string): ErasureRequest | undefined {
  if (!/^[0-9a-f-]{4,36}$/i.test(idOrPrefix)) return undefined;
  const sql = /*sql*/ `SELECT ${columns} FROM erasure_requests WHERE id GLOB ? LIMIT 2`;
  const found = prepared<[string], RequestRow>(db, sql).all(`${idOrPrefix.toLowerCase()}*`);
  return found.length === 1 && found[0] ? requestOf(found[0]) : undefined;
}

/** The requests for erasure that have ended without a refusal since a time (ISO 8601 UTC). */
export function listEnded(db: Database, since: string): ErasureRequest[] {
  const sql = /*sql*/ `SELECT ${columns} FROM erasure_requests WHERE NOT is_access AND state IN ('cancelled', 'sealed')
    AND coalesce(cancelled_at, sealed_at) >= ?`;
  return prepared<[string], RequestRow>(db, sql).all(since).map(requestOf);
}

/** A request that has ended with a certificate. */
export type CertifiedRequest = Pick<ErasureRequest, 'id' | 'generation' | 'receivedAt'> & { certifiedAt: string };

/** The newest requests that have ended with a certificate, the newest first. */
export function newestCertified(db: Database, most: number): CertifiedRequest[] {
  const sql = /*sql*/ `SELECT id, generation, received_at AS receivedAt, certified_at AS certifiedAt FROM erasure_requests
    WHERE state IN ('certified', 'sealed') AND certified_at IS NOT NULL ORDER BY certified_at DESC, id LIMIT ?`;
  return prepared<[number], CertifiedRequest>(db, sql).all(most);
}

/** A request that has just been received, and its box. */
export type NewRequest = Pick<
  ErasureRequest,
  'id' | 'generation' | 'isAccess' | 'origin' | 'basis' | 'authorisedBy' | 'deleteEvents' | 'receivedAt' | 'dueAt'
> & { box: Buffer | null };

/** Adds a request, in the state `received`. One that is there stays as it is. */
export function insertRequest(db: Database, request: NewRequest): void {
  const sql = /*sql*/ `INSERT INTO erasure_requests
      (id, generation, is_access, origin, basis, authorised_by, delete_events, state, received_at, due_at, box)
    VALUES (@id, @generation, @isAccess, @origin, @basis, @authorisedBy, @deleteEvents, 'received', @receivedAt, @dueAt, @box)
    ON CONFLICT DO NOTHING`;
  prepared(db, sql).run({ ...request, isAccess: request.isAccess ? 1 : 0, deleteEvents: request.deleteEvents ? 1 : 0 });
}

/** What the row of a request says because of the ledger. */
export type RecordedFields = Pick<
  ErasureRequest,
  keyof RequestFacts | 'generation' | 'origin' | 'deleteEvents' | 'dueAt' | 'epoch' | 'reason'
>;

/**
 * What may be changed of a request beside that, as the mirror's own; what is not given stays. `epoch`: of the fence that the mirror
 * has, also where the ledger does not say yet that it stands.
 */
export type RequestChange = Partial<
  Omit<ErasureRequest, 'id' | 'isAccess' | 'receivedAt' | 'state' | Exclude<keyof RecordedFields, 'epoch'>>
> & { box?: Buffer | null; listedAgain?: null; holders?: null };

/** Changes a request. Call it inside a transaction where the box goes: its bytes are to be purged then. */
export function changeRequest(db: Database, id: string, change: RequestChange): void {
  if (Object.keys(change).length === 0) return;
  if (change.box === null) {
    removeBoxParts(db, id);
    markPurgeOwed(db);
  }
  const sql = /*sql*/ `UPDATE erasure_requests SET ${assignmentsOf(change)} WHERE id = @id`;
  prepared(db, sql).run({ ...change, id });
}

/** Whether an open request cannot go on before somebody has looked at it. One that is held waits for an approval. */
export function needsOperator({ state, waitsFor }: Pick<ErasureRequest, 'state' | 'waitsFor'>): boolean {
  return state === 'attention' || (waitsFor !== null && state !== 'held');
}

/**
 * Whether a request that is not done is overdue at a time (ISO 8601 UTC). Nobody knows when one is due whose receipt a clock that was
 * ahead has dated: it is overdue.
 */
export function isOverdue({ receivedAt, dueAt }: Pick<ErasureRequest, 'receivedAt' | 'dueAt'>, at: string): boolean {
  return dueAt < at || isDatedAhead(Date.parse(receivedAt), Date.parse(at));
}

/** How many requests for erasure are in each state. */
export function countRequests(db: Database): Partial<Record<RequestState, number>> {
  const sql = /*sql*/ `SELECT state, count(*) FROM erasure_requests WHERE NOT is_access GROUP BY state`;
  return Object.fromEntries(db.prepare<[], [RequestState, number]>(sql).raw().all());
}

/** What a request's state depends on, beside its targets. */
export type RequestFacts = Pick<
  ErasureRequest,
  | 'scopedAt'
  | 'heldAt'
  | 'approvedAt'
  | 'refusedAt'
  | 'cancelledAt'
  | 'fencedAt'
  | 'verifiedAt'
  | 'certifiedAt'
  | 'sealedAt'
>;

/** The state of a request, from its facts and targets alone. Attention comes first: an operator has to look. */
export function requestState(
  facts: RequestFacts,
  targets: readonly Pick<ErasureTarget, 'target' | 'status'>[],
): RequestState {
  if (facts.cancelledAt !== null) return 'cancelled';
  if (facts.refusedAt !== null) return 'refused';
  if (facts.sealedAt !== null) return 'sealed';
  if (facts.fencedAt === null) {
    if (facts.heldAt !== null && facts.approvedAt === null) return 'held';
    return facts.scopedAt === null ? 'received' : 'scoped';
  }
  if (targets.some(({ status }) => status === 'attention')) return 'attention';
  if (facts.certifiedAt !== null) return 'certified';
  const local = targets.filter(({ target }) => isHere(target));
  if (local.every(({ status }) => status === 'pending')) return 'fenced';
  if (facts.verifiedAt === null || local.some(({ status }) => status !== 'done')) return 'executing';
  const open = targets.filter(({ status }) => status !== 'done');
  const deletesLater: readonly unknown[] = ['upstream.events', 'upstream.recordings'];
  const onlyWaits =
    open.length > 0 && open.every(({ target, status }) => deletesLater.includes(target) && status === 'waiting');
  return onlyWaits ? 'awaiting_upstream' : 'locally_verified';
}

/** Why a request is in its state: what it waits for, why it was refused, or why it ended without a certificate. */
export function requestReason(
  { reason, certifiedAt, isAccess }: Pick<ErasureRequest, 'reason' | 'certifiedAt' | 'isAccess'>,
  state: RequestState,
  targets: readonly Pick<ErasureTarget, 'status' | 'reason'>[],
): RequestReason | null {
  if (state === 'attention') return targets.find(({ status }) => status === 'attention')?.reason ?? null;
  if (state === 'held' || state === 'refused') return reason;
  // Only its age lets a request for erasure end so.
  return state === 'sealed' && certifiedAt === null && !isAccess ? 'life_exceeded' : null;
}

/** Writes what the ledger says of a request. Its state follows by `updateRequest`. */
export function writeRecorded(db: Database, id: string, recorded: RecordedFields): void {
  const { epoch: _epoch, ...fields } = recorded;
  const sql = /*sql*/ `UPDATE erasure_requests SET ${assignmentsOf(fields)},
    epoch = CASE WHEN epoch >= @epoch OR @epoch IS NULL THEN epoch ELSE @epoch END WHERE id = @id`;
  prepared(db, sql).run({ ...recorded, deleteEvents: recorded.deleteEvents ? 1 : 0, id });
}

/** The entries of the ledger, up to the last one about a request, that the tables of requests were made of: how many, and their root hash. */
export type TakenEntries = { entries: number; root: string };

/** The entries that the tables of requests were made of; undefined where there were none yet. */
export function readTakenEntries(db: Database): TakenEntries | undefined {
  return prepared<[], TakenEntries>(db, /*sql*/ `SELECT entries, root FROM taken_entries`).get();
}

/** Notes of which entries the tables of requests are made. Call it in the transaction that made them so. */
export function noteTakenEntries(
  db: Database,
  ledger: { requestEntries: () => number; rootOfFirst: (entries: number) => string },
): void {
  const entries = ledger.requestEntries();
  prepared(db, /*sql*/ `INSERT OR REPLACE INTO taken_entries VALUES (1, ?, ?)`).run(
    entries,
    ledger.rootOfFirst(entries),
  );
}

/** Changes a request, and brings its state in line with its facts and targets, in one transaction. */
export function updateRequest(db: Database, id: string, change: RequestChange): void {
  transact(db, () => {
    changeRequest(db, id, change);
    const request = findRequest(db, id);
    if (!request) throw new Error('a request that is not there');
    const targets = listTargets(db, id);
    const state = requestState(request, targets);
    const reason = requestReason(request, state, targets);
    if (state !== request.state || reason !== request.reason)
      prepared(db, /*sql*/ `UPDATE erasure_requests SET state = @state, reason = @reason WHERE id = @id`).run({
        state,
        reason,
        id,
      });
  });
}

/** Destroys the box of a request and the operator's own words, where there are any. It waits for nobody any more. */
export function destroyWords(db: Database, id: string): void {
  const request = findRequest(db, id);
  if (!request || !(hasBox(db, id) || request.authorisedBy !== null || readHolders(db, id))) return;
  const basis = basisCode(request.basis);
  changeRequest(db, id, { box: null, holders: null, authorisedBy: null, basis, waitsFor: null, waitsSince: null });
}
