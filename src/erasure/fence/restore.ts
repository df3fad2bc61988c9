import { isoTime } from '../../core/clock.ts';
import { identityOf, unionOf, type IdentifierKind, type Identity } from '../../contract/identity.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { Database } from '../../mirror/database.ts';
import { endPassesThatName, prepareEraseRows, releaseQuarantined } from '../../mirror/remove-rows.ts';
import { readEpoch, setEpoch } from '../../mirror/fence.ts';
import { changeRequest, findRequest, insertRequest, listRequests } from '../../mirror/erasure-requests.ts';
import { listTargets, renewTarget, restartTarget } from '../../mirror/erasure-targets.ts';
import { addFence, type FenceEntry } from '../../mirror/fence.ts';
import { findFencedIdentifiers, type FencedIdentifier } from '../../mirror/fence.ts';
import { findQuarantined } from '../../mirror/quarantine.ts';
import { findPersons, findRecordings } from '../../mirror/sightings.ts';
import { trimRecordings } from '../../mirror/remove-rows.ts';
import { closeBox, newBox, type Box } from '../request/box.ts';
import { boxOf, updateRequest, type ErasureParts } from '../request/request-record.ts';
import { reopenRequest } from '../request/reopen.ts';
import { isFile, isUpstream, readTarget } from '../../ledger/target.ts';
import { refuseOlderLedger } from './restore-guard.ts';

/** What an older copy of the mirror had brought back. */
export type ReplayResult = { requests: number; rows: number };

/**
 * Brings an older copy of the mirror up to the ledger: the fences raised since are raised again from their MACs, every
 * stored identifier is held against them, and whoever is found leaves the mirror and is erased again, as the next
 * generation of the same request; so is every request that the copy takes for open and the ledger knows to have ended.
 * Null where the mirror is no older copy. Throws `storage` where it is the ledger that is older.
 */
export function replayErasures(parts: ErasureParts): ReplayResult | null {
  const { db, ledger, clock } = parts;
  const from = readEpoch(db);
  const to = ledger.epoch();
  refuseOlderLedger(from, ledger);
  const histories = readHistories(ledger);
  endRequests(parts, histories);
  const ended = listRequests(db, 'open').filter((request) =>
    isOlderThan(db, request.id, histories.get(request.id)),
  );
  if (from >= to && ended.length === 0) return null;
  const at = isoTime(clock.now());
  const result: ReplayResult = { requests: 0, rows: 0 };
  db.transaction(() => {
    for (const [id, { fences, isReadmitted }] of histories)
      for (const { epoch, fencedAt, entries } of fences)
        if (epoch > from && !isReadmitted) addFence(db, { id, epoch, at: fencedAt }, entries);
    const eraseRows = prepareEraseRows(db);
    const found = from < to ? findFencedIdentifiers(db) : [];
    const boxes = boxesFrom(db, found);
    const records: LedgerRecord[] = [];
    for (const id of new Set([...boxes.keys(), ...ended.map((request) => request.id)])) {
      const history = histories.get(id);
      const box = boxes.get(id);
      if (box) {
        result.rows += eraseRows(id, box.identity, [], at);
        putBox(parts, id, box, history?.keepsEvents === true);
      }
      askAnew(parts, id, at);
      // A file that was to be rewritten has a result yet to come, be it that the file is gone.
      for (const target of [...(history?.intents ?? [])].map(readTarget))
        if (isFile(target)) renewTarget(db, id, target, null, at);
      result.requests += 1;
      const generation = nextGeneration(history);
      const record = reopenRequest(parts, { id, generation }, 'restored');
      if (generation !== history?.generation) records.push(record);
    }
    // For all of them together: each of these reads a whole table.
    const everybody = identityOfFound(found);
    releaseQuarantined(db, findQuarantined(db, everybody));
    trimRecordings(db, everybody.distinct_id, at);
    endPassesThatName(db, everybody, at);
    setEpoch(db, Math.max(from, to));
    // Within the transaction: what the ledger cannot take is not done.
    ledger.append([
      ...records,
      { type: 'replayed', epoch_from: from, epoch_to: Math.max(from, to), rows: result.rows },
    ]);
  }).immediate();
  return result;
}

/** What the ledger tells of a request. */
type History = {
  generation: number;
  /** The generation that was fenced last; 0 before. */
  fencedGeneration: number;
  keepsEvents: boolean;
  /** Refused or given up before anything was done for it, and when. */
  refusedAt: string | null;
  cancelledAt: string | null;
  /** Whether its newest generation was certified, and whether it was sealed. */
  isCertified: boolean;
  isSealed: boolean;
  isReadmitted: boolean;
  /** What was begun, and has no result. */
  intents: Set<string>;
  /** Those that stand, oldest first. */
  fences: { epoch: number; fencedAt: string; entries: FenceEntry[] }[];
};

function readHistories(ledger: LedgerReader): Map<string, History> {
  const histories = new Map<string, History>();
  const intended = new Map<string, History['fences'][number]>();
  for (const entry of ledger.entries()) {
    if (entry.type === 'intent')
      for (const id of entry.requests) histories.get(id)?.intents.add(entry.target);
    if (entry.type === 'result')
      for (const id of entry.requests) histories.get(id)?.intents.delete(entry.target);
    if (!('request' in entry)) continue;
    const { request: id, generation } = entry;
    const history = histories.get(id) ?? {
      generation,
      fencedGeneration: 0,
      keepsEvents: false,
      refusedAt: null,
      cancelledAt: null,
      isCertified: false,
      isSealed: false,
      isReadmitted: false,
      intents: new Set(),
      fences: [],
    };
    histories.set(id, history);
    history.generation = generation;
    if (entry.type === 'received') history.keepsEvents = !entry.delete_events;
    if (entry.type === 'refused') history.refusedAt = entry.at;
    if (entry.type === 'cancelled') history.cancelledAt = entry.at;
    if (entry.type === 'certified') history.isCertified = true;
    if (entry.type === 'sealed') history.isSealed = true;
    if (entry.type === 'reopened') history.isCertified = history.isSealed = false;
    if (entry.type === 'readmitted') history.isReadmitted = true;
    if (entry.type === 'fencing')
      intended.set(id, { epoch: entry.epoch, fencedAt: entry.at, entries: entry.fence });
    if (entry.type === 'fenced') {
      const fence = intended.get(id);
      if (fence?.epoch === entry.epoch) history.fences.push(fence);
      history.fencedGeneration = generation;
      history.isReadmitted = false;
    }
  }
  return histories;
}

/**
 * Whether the mirror takes a request for less far than the ledger knows it to be. A kill leaves it one step behind: with
 * everything reached, and only its end not noted.
 */
function isOlderThan(db: Database, id: string, history: History | undefined): boolean {
  const request = findRequest(db, id);
  if (!history || !request) return false;
  const isBehind = request.generation < history.generation;
  const isFenced = request.fencedAt !== null;
  const newest = history.fences.at(-1);
  if (!isFenced && newest !== undefined && request.generation <= history.generation)
    return isBehind || newest.epoch > readEpoch(db);
  const isOpen = request.verifiedAt === null || listTargets(db, id).some(({ status }) => status !== 'done');
  const isUncertified = request.certifiedAt === null;
  return isBehind || (isUncertified && (history.isSealed || (history.isCertified && isOpen)));
}

/**
 * Ends the requests that the ledger knows to have been refused or given up, and the mirror does not: that word is not
 * taken back.
 */
export function endRequests(
  { db, ledger }: Pick<ErasureParts, 'db' | 'ledger'>,
  histories: ReadonlyMap<string, History> = readHistories(ledger),
): void {
  db.transaction(() => {
    for (const { id } of listRequests(db, 'open')) {
      const { refusedAt = null, cancelledAt = null } = histories.get(id) ?? {};
      if (refusedAt === null && cancelledAt === null) continue;
      const reason = refusedAt === null ? null : 'unknown_subject';
      updateRequest(db, id, { refusedAt, cancelledAt, reason, box: null, authorisedBy: null });
    }
  }).immediate();
}

/** As which generation a request begins anew: one that has begun so already, and was killed before its fence, goes on. */
function nextGeneration(history: History | undefined): number {
  const { generation, fencedGeneration } = history ?? { generation: 1, fencedGeneration: 1 };
  return generation > fencedGeneration ? generation : generation + 1;
}

/** What the copy waits for at the service has been answered since: it is asked from the beginning. */
function askAnew({ db }: ErasureParts, id: string, at: string): void {
  for (const { target, status } of listTargets(db, id))
    if (isUpstream(target) && status !== 'done') restartTarget(db, id, target, at);
}

/** For each request, a box made of what the mirror still has of those whose identifiers were found in it. */
function boxesFrom(db: Database, found: readonly FencedIdentifier[]): Map<string, Box> {
  const texts = new Map<string, string[]>();
  const learn = (kind: IdentifierKind, value: string | null, values: readonly string[]): void => {
    if (value === null) return;
    const known = texts.get(`${kind} ${value}`);
    if (known) known.push(...values);
    else texts.set(`${kind} ${value}`, [...values]);
  };
  // All of them together: either of the two reads a whole table.
  const everybody = identityOfFound(found);
  for (const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds, values } of findPersons(
    db,
    everybody,
  )) {
    learn('person_uuid', uuid, values);
    learn('person_id', id, values);
    for (const distinctId of distinctIds) learn('distinct_id', distinctId, values);
  }
  for (const { recording_id: id, person_uuid: uuid, recordedUnder, values } of findRecordings(
    db,
    everybody,
  )) {
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

/**
 * Gives a request a box again, of what it knew and what was found; where the copy does not know the request at all, it is
 * made from what the ledger tells.
 */
function putBox(parts: ErasureParts, id: string, found: Box, keepsEvents: boolean): void {
  const { db, settings, clock } = parts;
  const known = boxOf(parts, id) ?? found;
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
    origin: 'restore',
    basis: 'restored_backup',
    authorisedBy: null,
    deleteEvents: !keepsEvents,
    receivedAt: isoTime(clock.now()),
    dueAt: isoTime(clock.now() + settings.erasure.dueDays * 86_400_000),
    box,
  });
}
