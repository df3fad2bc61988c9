import { refuseOtherLedger } from '../job/other-ledger.ts';
import { collectHistories, type Histories } from '../ledger/histories.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import { isOfRequest, requestsOf, type RequestRecord } from '../ledger/record.ts';
import type { RequestHistory } from '../ledger/request-history.ts';
import {
  elsewhereTargets,
  fixedTargets,
  isHere,
  readTarget,
  spellTarget,
  type FixedTarget,
  type Target,
} from '../ledger/target.ts';
import { basisCode, type AttentionReason } from '../ledger/vocabulary.ts';
import type { Database } from '../mirror/database.ts';
import {
  changeRequest,
  destroyWords,
  findRequest,
  insertRequest,
  noteTakenEntries,
  readTakenEntries,
  requestReason,
  requestState,
  updateRequest,
  writeRecorded,
  type ErasureRequest,
  type RecordedFields,
} from '../mirror/erasure-requests.ts';
import {
  addTarget,
  changeTarget,
  listTargets,
  restartTarget,
  statusOf,
  type ErasureTarget,
} from '../mirror/erasure-targets.ts';
import { liftFence, readEpoch } from '../mirror/fence.ts';
import { markPurgeOwed } from '../mirror/purge.ts';
import { transact } from '../mirror/transact.ts';

// The ledger is the truth about a request. What the mirror's tables say of its stages and of its targets' ends is made here, of the
// ledger's entries. Boxes, operators' words, attempts and waits are the mirror's own.

/** The part of a ledger that the mirror's tables are made of. */
export type Source = Pick<LedgerReader, 'entries' | 'requestEntries' | 'rootOfFirst' | 'histories'>;

/**
 * Takes an entry up into the tables. `histories`: as they are with this entry, or with later ones that are taken up in the same
 * transaction. An entry about no request, or about one that was never received, changes nothing.
 */
export function applyEntry(db: Database, entry: LedgerEntry, histories: Pick<Histories, 'of'>): void {
  if (!isOfRequest(entry)) return;
  for (const id of requestsOf(entry)) {
    const history = histories.of(id);
    if (!history) continue;
    writeRequest(db, history);
    applyToTargets(db, id, entry);
    if (entry.type === 'readmitted') {
      liftFence(db, id);
      changeRequest(db, id, { listedAgainPass: null, listedAgain: null, staysOut: null });
    } else if (entry.type === 'awaiting_upstream')
      changeRequest(db, id, { eventsExpectedBy: entry.events_expected_by });
    // The new words are written by who appends it. Where they are lost, the old ones count no more.
    else if (entry.type === 'amended' && entry.authorisation !== undefined)
      changeRequest(db, id, { authorisedBy: null });
    updateRequest(db, id, {});
  }
}

/**
 * Takes up the entries that the tables do not have yet: a kill, or an older copy of the mirror, leaves them behind. Throws
 * `storage` for a ledger that does not begin with the entries that the tables were made of.
 */
export function catchUp(db: Database, ledger: Source): void {
  const from = readTakenEntries(db)?.entries ?? 0;
  if (from === ledger.requestEntries()) return;
  refuseOtherLedger(db, ledger);
  transact(db, () => {
    for (const entry of ledger.entries()) if (entry.seq >= from) applyEntry(db, entry, ledger.histories);
    noteTakenEntries(db, ledger);
  });
}

/** The histories of requests when the ledger had the entries that the tables were made of: what the tables have to say. */
export function historiesTaken(db: Database, ledger: Source): Pick<Histories, 'of' | 'all' | 'access'> {
  const taken = readTakenEntries(db)?.entries ?? 0;
  if (taken >= ledger.requestEntries()) return ledger.histories;
  const histories = collectHistories();
  for (const entry of ledger.entries()) if (entry.seq < taken) histories.take(entry);
  return histories;
}

/** Whether the row of a request says what its history does. */
export function isAsRecorded(db: Database, request: ErasureRequest, history: RequestHistory): boolean {
  const targets = listTargets(db, request.id);
  const { state, reason } = request;
  const written = rowOf(history);
  return (
    (Object.keys(written) as (keyof typeof written)[]).every(
      (field) => field === 'reason' || field === 'epoch' || request[field] === written[field],
    ) &&
    basisCode(request.basis) === history.basis &&
    state === requestState(request, targets) &&
    reason === requestReason({ ...request, reason: written.reason }, state, targets)
  );
}

/** A request with the state that the ledger has, where its row says something else. */
export function believed(db: Database, request: ErasureRequest, history: RequestHistory | undefined): ErasureRequest {
  if (!history || isAsRecorded(db, request, history)) return request;
  return { ...request, state: history.state, reason: history.reason };
}

/** A target about which its row knows more than the ledger: another end, or a deletion at the service that was sent. */
export function isUnrecorded(
  { target, status, result, attempts }: ErasureTarget,
  { targets, intended }: Pick<RequestHistory, 'targets' | 'intended'>,
): boolean {
  const name = spellTarget(target);
  const isSent = (target === 'upstream.person' || target === 'upstream.recordings') && attempts > 0;
  return status === 'done' ? targets.get(name)?.result !== result : isSent && !intended.includes(name);
}

/** Writes again what the tables have to say of a request, where somebody has edited them. Call it in a transaction. */
export function writeAgain(db: Database, history: RequestHistory, at: string): void {
  const { request: id, verified } = history;
  writeRequest(db, history);
  for (const each of listTargets(db, id)) {
    const { target } = each;
    const ended = history.targets.get(spellTarget(target));
    const wasProved = verified !== null && isHere(target);
    if (!isUnrecorded(each, history) && !(wasProved && each.status !== 'done')) continue;
    restartTarget(db, id, target, at);
    // What is done once more is asked for again at the service, or proved again here: neither does any harm.
    if (ended && wasProved) end(db, id, target, ended, at);
  }
  updateRequest(db, id, {});
}

/**
 * Whether the person of a request was fenced after the mirror was copied: it may be in the copy, and is erased from it by the
 * identifiers that the copy still has. Of who was let in again since, only the rows leave (`replayErasures`).
 */
export function isFencedSince(db: Database, { fence, isReadmitted }: RequestHistory): boolean {
  return fence !== null && !isReadmitted && fence.epoch > readEpoch(db);
}

/** What the row of a request says by its history. Times are those of the ledger's entries. */
function rowOf(history: RequestHistory): RecordedFields {
  const { generation, origin, dueAt, scopedAt, heldAt, approvedAt, fence, isUnnamed, state, reason } = history;
  return {
    generation,
    origin,
    dueAt,
    deleteEvents: history.deletesEvents,
    scopedAt,
    heldAt,
    approvedAt,
    refusedAt: history.refused?.at ?? null,
    cancelledAt: state === 'cancelled' ? history.endedAt : null,
    fencedAt: fence && (isUnnamed || fence.generation === generation) ? fence.at : null,
    epoch: fence?.epoch ?? null,
    verifiedAt: history.verified?.at ?? null,
    certifiedAt: history.certified.find((issued) => issued.generation === generation)?.at ?? null,
    sealedAt: history.sealed?.at ?? null,
    reason: state === 'held' || state === 'refused' ? reason : null,
  };
}

/** Makes the row of a request as its history says. */
function writeRequest(db: Database, history: RequestHistory): void {
  const { request: id, isAccess, origin, basis, dueAt, received, deletesEvents: deleteEvents } = history;
  const known = { id, isAccess, origin, basis, deleteEvents, receivedAt: received.at, dueAt };
  // The ledger has of who asked for it an HMAC only.
  insertRequest(db, { ...known, generation: 1, authorisedBy: null, box: null });
  writeRecorded(db, id, rowOf(history));
  const words = findRequest(db, id)?.basis ?? basis;
  if (basisCode(words) !== basis) {
    changeRequest(db, id, { basis });
    markPurgeOwed(db);
  }
  // It has come to its end: its identifiers are to be destroyed.
  const isOver = history.isReadmitted || history.sealed !== null || ['refused', 'cancelled'].includes(history.state);
  if (isOver && !isFencedSince(db, history)) destroyWords(db, id);
}

/** The targets at the service that begin again where a request is opened again for a reason. */
const soughtAgain: Readonly<Partial<Record<AttentionReason, readonly FixedTarget[]>>> = {
  listed_again: ['upstream.person', 'upstream.events'],
  recreated: ['upstream.person', 'upstream.events'],
  shown_wider: ['upstream.recordings', 'upstream.playlists'],
};

function applyToTargets(db: Database, id: string, entry: Extract<LedgerEntry, RequestRecord>): void {
  const { type, at } = entry;
  if (type === 'fenced') for (const target of fixedTargets) addTarget(db, id, target, null, at);
  else if (type === 'intent') {
    const target = added(db, id, entry.target, at);
    const attempts = listTargets(db, id).find((each) => each.target === target)?.attempts ?? 0;
    // Each intent to delete the person is one attempt: it may have been sent.
    const sent = target === 'upstream.person' ? { attempts: attempts + 1 } : {};
    changeTarget(db, id, target, { status: 'intended', ...sent }, at);
  } else if (type === 'result') end(db, id, added(db, id, entry.target, at), entry, at);
  else if (type === 'attention') {
    const target = added(db, id, entry.target, at);
    if (statusOf(db, id, target) === 'done') restartTarget(db, id, target, at);
    changeTarget(db, id, target, { status: 'attention', reason: entry.reason }, at);
  } else if (type === 'reopened') {
    const here = entry.unnamed === true ? [] : ['mirror', 'aux', ...(soughtAgain[entry.reason] ?? [])];
    const again: readonly unknown[] = [...elsewhereTargets, ...here];
    for (const { target } of listTargets(db, id)) if (again.includes(target)) restartTarget(db, id, target, at);
    if (again.includes('upstream.events')) changeRequest(db, id, { eventsExpectedBy: null });
  }
}

/** A target by its name; the request has it from now on. */
function added(db: Database, id: string, name: string, at: string): Target {
  const target = readTarget(name);
  addTarget(db, id, target, null, at);
  return target;
}

function end(
  db: Database,
  id: string,
  target: Target,
  { result, assurance }: { result: NonNullable<ErasureTarget['result']>; assurance: ErasureTarget['assurance'] },
  at: string,
): void {
  changeTarget(db, id, target, { status: 'done', result, assurance, reason: null, notBefore: null }, at);
}
