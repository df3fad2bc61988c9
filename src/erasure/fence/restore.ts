import { isoTime } from '../../core/clock.ts';
import { identityOf, unionOf, type IdentifierKind, type Identity } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { RequestHistory } from '../../ledger/request-history.ts';
import type { Database } from '../../mirror/database.ts';
import {
  changeRequest,
  findRequest,
  insertRequest,
  listRequests,
  type ErasureRequest,
} from '../../mirror/erasure-requests.ts';
import { listTargets, renewTarget, restartTarget } from '../../mirror/erasure-targets.ts';
import {
  addFence,
  findFencedIdentifiers,
  readEpoch,
  setEpoch,
  type FencedIdentifier,
  type FenceEntry,
} from '../../mirror/fence.ts';
import { findQuarantined } from '../../mirror/quarantine.ts';
import { endPassesThatName, prepareEraseRows, releaseQuarantined, trimRecordings } from '../../mirror/remove-rows.ts';
import { findPersons, findRecordings } from '../../mirror/sightings.ts';
import { boxOf, closeBox, newBox, type Box } from '../request/box.ts';
import { reopenRequest } from '../request/reopen.ts';
import { isFile, isUpstream, readTarget } from '../../ledger/target.ts';
import { endRequests, refuseOlderLedger } from './restore-guard.ts';

/** What an older copy of the mirror had brought back. */
export type ReplayResult = { requests: number; rows: number };

/**
 * Brings an older copy of the mirror up to the ledger. The fences raised since are raised again from their MACs, and every
 * stored identifier is compared with them. A person that is found leaves the mirror and is erased again, as the next
 * generation of the same request. A request that is open in the copy, and has ended by the ledger, is done again, too.
 * Returns null where the mirror is no older copy. Throws `storage` where the ledger is older than the mirror.
 */
export function replayErasures(context: JobContext): ReplayResult | null {
  const { db, clock } = context;
  const ledger = context.ledger();
  const from = readEpoch(db);
  const to = ledger.epoch();
  refuseOlderLedger(from, ledger);
  endRequests(context);
  const { histories } = ledger;
  const ended = listRequests(db, 'open').filter((request) => isOlderThan(db, request, histories.of(request.id)));
  if (from >= to && ended.length === 0) return null;
  const at = isoTime(clock.now());
  const result: ReplayResult = { requests: 0, rows: 0 };
  db.transaction(() => {
    for (const { entries, ...fence } of from < to ? fencesSince(ledger, from) : [])
      if (histories.of(fence.id)?.isReadmitted === false) addFence(db, fence, entries);
    const eraseRows = prepareEraseRows(db);
    const found = from < to ? findFencedIdentifiers(db) : [];
    const boxes = boxesFrom(db, found);
    const records: LedgerRecord[] = [];
    for (const id of new Set([...boxes.keys(), ...ended.map((request) => request.id)])) {
      const history = histories.of(id);
      const box = boxes.get(id);
      if (box) {
        result.rows += eraseRows(id, box.identity, [], at);
        putBox(context, id, box, history);
      }
      restartUpstream(context, id, at);
      // A file with an intent needs a result, even if only that the file is gone.
      for (const target of (history?.intended ?? []).map(readTarget))
        if (isFile(target)) renewTarget(db, id, target, null, at);
      result.requests += 1;
      const generation = nextGeneration(history);
      const record = reopenRequest(context, { id, generation }, 'restored');
      if (generation !== history?.generation) records.push(record);
    }
    // Once for all requests: each of these reads a whole table.
    const allFound = identityOfFound(found);
    releaseQuarantined(db, findQuarantined(db, allFound));
    trimRecordings(db, allFound.distinct_id, at);
    endPassesThatName(db, allFound, at);
    setEpoch(db, Math.max(from, to));
    // Within the transaction: if the ledger cannot be written, nothing is done.
    ledger.append([
      ...records,
      { type: 'replayed', epoch_from: from, epoch_to: Math.max(from, to), rows: result.rows },
    ]);
  }).immediate();
  return result;
}

/** A fence that stands, as the ledger has it. */
type StandingFence = { id: string; epoch: number; at: string; entries: readonly FenceEntry[] };

/** The fences that were raised since an epoch, oldest first. The ledger is read for them: it keeps no MACs in memory. */
function fencesSince(ledger: LedgerReader, epoch: number): StandingFence[] {
  const begun = new Map<string, StandingFence>();
  const standing: StandingFence[] = [];
  for (const entry of ledger.entries()) {
    if (entry.type === 'fencing' && entry.epoch > epoch)
      begun.set(entry.request, { id: entry.request, epoch: entry.epoch, at: entry.at, entries: entry.fence });
    const fence = entry.type === 'fenced' ? begun.get(entry.request) : undefined;
    if (entry.type === 'fenced' && fence?.epoch === entry.epoch) standing.push(fence);
  }
  return standing;
}

/** Whether a request is less far in the mirror than in the ledger. One step behind, as after a kill, does not count. */
function isOlderThan(db: Database, request: ErasureRequest, history: RequestHistory | undefined): boolean {
  if (!history) return false;
  const isBehind = request.generation < history.generation;
  const isFenced = request.fencedAt !== null;
  const { fence, generation, certified, sealed } = history;
  if (!isFenced && fence !== null && request.generation <= generation) return isBehind || fence.epoch > readEpoch(db);
  const isOpen = request.verifiedAt === null || listTargets(db, request.id).some(({ status }) => status !== 'done');
  const isUncertified = request.certifiedAt === null;
  const isCertified = certified.some((issued) => issued.generation === generation);
  return isBehind || (isUncertified && (sealed !== null || (isCertified && isOpen)));
}

/** The generation in which a request is done again. One that was begun and killed before its fence goes on. */
function nextGeneration(history: RequestHistory | undefined): number {
  const { generation = 1, fence = { generation: 1 } } = history ?? {};
  return generation > (fence?.generation ?? 0) ? generation : generation + 1;
}

/** The service may have answered since the copy was made: every open target there begins again. */
function restartUpstream({ db }: Pick<JobContext, 'db'>, id: string, at: string): void {
  for (const { target, status } of listTargets(db, id))
    if (isUpstream(target) && status !== 'done') restartTarget(db, id, target, at);
}

/** A new box for each request whose identifiers were found, with the texts that the mirror still has of the subject. */
function boxesFrom(db: Database, found: readonly FencedIdentifier[]): Map<string, Box> {
  const texts = new Map<string, string[]>();
  const learn = (kind: IdentifierKind, value: string | null, values: readonly string[]): void => {
    if (value === null) return;
    const known = texts.get(`${kind} ${value}`);
    if (known) known.push(...values);
    else texts.set(`${kind} ${value}`, [...values]);
  };
  // Once for all requests: each of the two reads a whole table.
  const allFound = identityOfFound(found);
  for (const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds, values } of findPersons(db, allFound)) {
    learn('person_uuid', uuid, values);
    learn('person_id', id, values);
    for (const distinctId of distinctIds) learn('distinct_id', distinctId, values);
  }
  for (const { recording_id: id, person_uuid: uuid, recordedUnder, values } of findRecordings(db, allFound)) {
    learn('recording_id', id, values);
    learn('person_uuid', uuid, values);
    learn('distinct_id', recordedUnder, values);
  }
  return new Map(
    [...Map.groupBy(found, ({ requestId }) => requestId)].map(([requestId, own]) => {
      const values = own.flatMap(({ kind, value }) => texts.get(`${kind} ${value}`) ?? []);
      return [requestId, { ...newBox([], identityOfFound(own)), values: [...new Set(values)] }];
    }),
  );
}

function identityOfFound(found: readonly FencedIdentifier[]): Identity {
  const values = (kind: IdentifierKind): string[] =>
    found.filter((identifier) => identifier.kind === kind).map(({ value }) => value);
  return identityOf((kind) => [...new Set(values(kind))]);
}

/** Gives a request a box again, with what it knew and what was found. A request unknown here is added again. */
function putBox(context: JobContext, id: string, found: Box, history: RequestHistory | undefined): void {
  const { db, settings, clock } = context;
  const at = isoTime(clock.now());
  const known = boxOf(context, id) ?? found;
  const box = closeBox(settings.dataDir, id, {
    ...known,
    identity: unionOf([known.identity, found.identity]),
    values: [...new Set([...known.values, ...found.values])],
  });
  if (findRequest(db, id)) {
    changeRequest(db, id, { box });
    return;
  }
  insertRequest(db, {
    id,
    generation: 1,
    // The ledger has of who asked for it an HMAC only.
    authorisedBy: null,
    ...(history
      ? { origin: history.origin, basis: history.basis, receivedAt: history.received.at, dueAt: history.dueAt }
      : { origin: 'restore', basis: 'restored_backup', receivedAt: at, dueAt: at }),
    deleteEvents: history?.deletesEvents !== false,
    box,
  });
  changeRequest(db, id, { reopenedAt: at });
}
