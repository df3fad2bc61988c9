import { isoTime } from '../../core/clock.ts';
import {
  identityOf,
  nobody,
  unionOf,
  type IdentifierKind,
  type Identity,
  type Sighting,
} from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import { isHere } from '../../ledger/target.ts';
import type { Database } from '../../mirror/database.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { hasBox } from '../../mirror/request-box.ts';
import { listTargets, restartTarget } from '../../mirror/erasure-targets.ts';
import { aboveAllNumbers, renumberFeeds } from '../../mirror/feeds.ts';
import { readEpoch, setEpoch, type FencedIdentifier } from '../../mirror/fence.ts';
import { markPurgeOwed } from '../../mirror/purge.ts';
import { findQuarantined } from '../../mirror/quarantine.ts';
import { endPassesThatName, prepareEraseRows, releaseQuarantined, trimRecordings } from '../../mirror/remove-rows.ts';
import { findPersons, findRecordings } from '../../mirror/sightings.ts';
import { listStandingManifests, type Difference } from '../bound/differences.ts';
import { isFenceBehind, type Found } from '../bound/find-unbound.ts';
import { countParts } from '../bound/compare.ts';
import { isFencedSince, writeAgain } from '../projection.ts';
import { identifiersOf } from '../find/closure.ts';
import { nameAgain, reopenRequest } from '../request/reopen.ts';
import { together } from '../request/together.ts';

/** What an older copy of the mirror or of published files had brought back. */
export type ReplayResult = { requests: number; rows: number };

/**
 * Brings mirror and published files in line with the ledger, by what was found not to be. The rows of requests that somebody has
 * edited are written again. Where the mirror is an older copy or its fence differed, every stored identifier was compared with the
 * fences. A person that was found, here or in the files, leaves the mirror and is erased again, as the next generation of the same
 * request. So is one who was fenced after the copy was made, by the identifiers that the copy still has. Of one who was let in again
 * since, the rows leave, and the request stays as it is: the next pass stores what the service has. The manifests that stand are
 * recorded then. Returns null where nobody was erased again.
 */
export function replayErasures(context: JobContext, { differences, inMirror, inFiles }: Found): ReplayResult | null {
  const { db, clock } = context;
  const ledger = context.ledger();
  const from = readEpoch(db);
  const to = Math.max(from, ledger.epoch());
  const isFenceMended = isFenceBehind(db, ledger);
  const mended = mendedRecords(context, differences);
  if (!isFenceMended && inFiles.length + mended.length === 0) return null;
  const at = isoTime(clock.now());
  const result: ReplayResult = { requests: 0, rows: 0 };
  together(context, (own) => {
    const { histories } = own.ledger();
    for (const { part, id } of differences) {
      const history = part === 'requests' ? histories.of(id) : undefined;
      if (history) writeAgain(db, history, at);
    }
    const eraseRows = prepareEraseRows(db);
    const found = [...inMirror, ...inFiles];
    const named = nameFound(db, found);
    for (const id of new Set([...named.keys(), ...fencedSince(db, ledger)])) {
      const person = named.get(id);
      result.requests += 1;
      if (person && histories.of(id)?.isReadmitted) {
        result.rows += eraseRows(id, unionOf([person.identity, person.recordings]), at);
        // No request that is open sees to that.
        markPurgeOwed(db);
        continue;
      }
      if (person) {
        result.rows += eraseRows(id, person.identity, at);
        nameAgain(own, id, person.identity, person);
      }
      if (from < to) restartElsewhere(db, id, at);
      reopenRequest(own, id, 'restored');
    }
    // Once for all requests: each of these reads a whole table.
    const allFound = identityOfFound(found);
    releaseQuarantined(db, findQuarantined(db, allFound));
    for (const _some of trimRecordings(db, allFound.distinct_id, at));
    endPassesThatName(db, allFound, at);
    setEpoch(db, to);
    // What was published last may be lost, and the mirror an older copy.
    if (differences.some(({ part, isDamaged, isMissing }) => part === 'snapshots' && (isMissing || !isDamaged)))
      renumberFeeds(db, aboveAllNumbers(db, clock.now()));
    if (isFenceMended || result.requests > 0)
      own.ledger().append([{ type: 'replayed', epoch_from: from, epoch_to: to, rows: result.rows }]);
  });
  // Not before that has happened: what was found would not be looked for again after a kill.
  ledger.append(mended);
  return from < to || result.requests > 0 ? result : null;
}

/** The requests whose person was fenced after the mirror was copied, and whose identifiers the copy has. */
function fencedSince(db: Database, { histories }: Pick<LedgerReader, 'histories'>): string[] {
  return listRequests(db, 'all').flatMap(({ id }) => {
    const history = histories.of(id);
    return history && isFencedSince(db, history) && hasBox(db, id) ? [id] : [];
  });
}

/** The records of what was mended: the manifests that stand from now on, and how many differences each part had. */
function mendedRecords(
  { published, ledger: openLedger }: JobContext,
  differences: readonly Difference[],
): LedgerRecord[] {
  const { publications, differing } = openLedger().bound;
  const cause: 'adoption' | 'repair' = publications.isBegun() ? 'repair' : 'adoption';
  const items = new Map(countParts(differences));
  const stand = listStandingManifests(published);
  const known = new Set(stand.map(({ dataset, snapshot_id: id }) => `${dataset}/${id}`));
  const gone = [...publications.all()].flatMap(({ dataset, snapshotId }) =>
    known.has(`${dataset}/${snapshotId}`) ? [] : [{ dataset, snapshot_id: snapshotId, manifest: null }],
  );
  return [
    ...(cause === 'adoption' || items.has('snapshots')
      ? [{ type: 'published' as const, cause, snapshots: [...stand, ...gone] }]
      : []),
    ...[...new Set([...items.keys(), ...differing.keys()])].map((part): LedgerRecord => ({
      type: 'mended',
      part,
      items: items.get(part) ?? 0,
    })),
  ];
}

/**
 * Service and bucket may have changed since an older copy of the mirror was made, so every open target there begins again. Events whose
 * person is gone keep what they wait for: nobody will ask for their deletion again.
 */
function restartElsewhere(db: Database, id: string, at: string): void {
  const targets = listTargets(db, id);
  const isGone = targets.some(({ target, result }) => target === 'upstream.person' && result !== null);
  for (const { target, status } of targets)
    if (!isHere(target) && status !== 'done' && !(target === 'upstream.events' && isGone))
      restartTarget(db, id, target, at);
}

/** The identifiers that were found of each request, with the recordings and the texts that the mirror still has of the subject. */
function nameFound(db: Database, found: readonly FencedIdentifier[]) {
  const rows = new Map<string, Sighting[]>();
  const learn = (kind: IdentifierKind, value: string | null, row: Sighting): void => {
    if (value === null) return;
    const known = rows.get(`${kind} ${value}`) ?? [];
    rows.set(`${kind} ${value}`, known);
    known.push(row);
  };
  // Once for all requests: each of the two reads a whole table.
  const allFound = identityOfFound(found);
  for (const row of findPersons(db, allFound))
    for (const { kind, value } of identifiersOf(row)) learn(kind, value, row);
  for (const row of findRecordings(db, allFound)) {
    learn('recording_id', row.recording_id, row);
    learn('person_uuid', row.person_uuid, row);
    learn('distinct_id', row.recordedUnder, row);
  }
  return new Map(
    [...Map.groupBy(found, ({ requestId }) => requestId)].map(([requestId, own]) => {
      const about = [...new Set(own.flatMap(({ kind, value }) => rows.get(`${kind} ${value}`) ?? []))];
      const leftOut = about.reduce((sum, { left_out: left = 0 }) => sum + left, 0);
      const values = [...new Set(about.flatMap((row) => row.values))];
      const recordings = { ...nobody, recording_id: about.flatMap(({ recording_id: key }) => key ?? []) };
      return [requestId, { identity: identityOfFound(own), recordings, values, leftOut }] as const;
    }),
  );
}

/** The identity of identifiers that were found. */
export function identityOfFound(found: readonly FencedIdentifier[]): Identity {
  return identityOf((kind) => [...new Set(found.flatMap((each) => (each.kind === kind ? each.value : [])))]);
}
