import { fixedTargets, type FixedTarget } from '../../ledger/target.ts';
import { isoTime } from '../../core/clock.ts';
import { assertNever } from '../../core/errors.ts';
import { identifierKinds, unionOf, type Identity } from '../../contract/identity.ts';
import { type LedgerRecord } from '../../ledger/record.ts';
import { setEpoch } from '../../mirror/fence.ts';
import { endPassesThatName, prepareEraseRows } from '../../mirror/remove-rows.ts';
import type { ErasureRequest } from '../../mirror/erasure-requests.ts';
import { addTarget, renewTarget, statusOf } from '../../mirror/erasure-targets.ts';
import { addFence, fenceEntries, standingFence } from '../../mirror/fence.ts';
import { trimRecordings } from '../../mirror/remove-rows.ts';
import { closeBox, leftOutOf, type Box } from '../request/box.ts';
import { updateRequest, type ErasureParts } from '../request/request-record.ts';
import { fileTarget, type PlannedErasure } from '../plan.ts';
import { placeOf } from '../../snapshot/published-files.ts';
import { listPersonalFiles } from '../find/personal-files.ts';
import { runScan } from '../scan/run-scan.ts';
import { settle } from '../request/target-journal.ts';

type Waiting = PlannedErasure['waiting'][number];

/** What became of requests that were not fenced yet. */
export type FenceResult = { fenced: number; held: number; refused: number; rowsErased: number };

/**
 * Carries out what was decided about requests that are not fenced yet. For those that go on: the scan that is to find
 * nothing afterwards has to find them now; then the ledger is told; then, in one transaction, the fence grows and their
 * rows leave the mirror. From there, nobody can let them in again by accident.
 */
export async function fenceRequests(parts: ErasureParts, waiting: readonly Waiting[]): Promise<FenceResult> {
  const result: FenceResult = { fenced: 0, rowsErased: 0, ...recordDecisions(parts, waiting) };
  const going = waiting.filter(({ decision }) => decision.decision === 'fence').map(withFullBox);
  if (going.length === 0) return result;
  await controlScan(parts, going);
  result.rowsErased = raiseFence(parts, going);
  result.fenced = going.length;
  return result;
}

/** Records what was decided about requests that are not fenced yet, and how many are held and refused by it. */
export function recordDecisions(
  parts: ErasureParts,
  waiting: readonly Waiting[],
): Pick<FenceResult, 'held' | 'refused'> {
  for (const candidate of waiting) recordDecision(parts, candidate);
  const count = (wanted: string): number =>
    waiting.filter(({ decision }) => decision.decision === wanted).length;
  return { held: count('hold'), refused: count('refuse') };
}

type Going = Waiting & { full: Box };

/** The box of a request, with all that was found. */
function withFullBox(waiting: Waiting): Going {
  const { box, scope } = waiting;
  const { identity, values, memberships, createdAt } = scope;
  const leftOut = (box.leftOut ?? 0) + scope.leftOut;
  return {
    ...waiting,
    full: {
      ...box,
      identity: unionOf([box.identity, identity]),
      values: [...new Set([...box.values, ...values])],
      ...(leftOut > 0 ? { leftOut } : {}),
      memberships: [...box.memberships, ...memberships],
      createdAt: createdAt ?? box.createdAt,
    },
  };
}

function recordDecision(
  { db, ledger, clock, settings }: ErasureParts,
  { request, box, scope, decision }: Waiting,
): void {
  if (decision.decision === 'wait') return;
  const { id, generation } = request;
  const at = isoTime(clock.now());
  const about = { request: id, generation };
  const isNew = request.scopedAt === null;
  const scoped: LedgerRecord[] = isNew ? [scopedRecord(about, scope)] : [];
  const identity = unionOf([box.identity, scope.start]);
  const change = isNew
    ? { scopedAt: at, box: closeBox(settings.dataDir, id, { ...box, identity, shown: scope.shown }) }
    : {};
  switch (decision.decision) {
    case 'hold': {
      const isSaid = request.heldAt !== null && request.reason === decision.reason;
      ledger.append([
        ...scoped,
        ...(isSaid ? [] : [{ type: 'held', ...about, reason: decision.reason } as const]),
      ]);
      // Whoever is to decide has to know of how many.
      update(db, id, {
        ...change,
        ...countsOf(scope),
        heldAt: request.heldAt ?? at,
        reason: decision.reason,
      });
      return;
    }
    case 'refuse':
      ledger.append([...scoped, { type: 'refused', ...about, reason: decision.reason }]);
      // Nobody is to be found by it, so there is nothing to keep it for.
      update(db, id, { ...change, refusedAt: at, reason: decision.reason, box: null, authorisedBy: null });
      return;
    case 'fence':
      ledger.append(scoped);
      update(db, id, { ...change, heldAt: null });
      return;
    default:
      assertNever(decision);
  }
}

function scopedRecord(about: { request: string; generation: number }, scope: Waiting['scope']): LedgerRecord {
  return {
    type: 'scoped',
    ...about,
    persons: scope.persons,
    distinct_ids: scope.identity.distinct_id.length,
    recordings: scope.recordings,
    quarantined: scope.quarantined.length,
    files: scope.files.length,
  };
}

/** How much of a subject was found, as its request tells. */
function countsOf({
  persons,
  identity,
  recordings,
}: Waiting['scope']): Pick<ErasureRequest, 'persons' | 'distinctIds' | 'recordings'> {
  return { persons, distinctIds: identity.distinct_id.length, recordings };
}

/** The scan has to find each subject before the purge, or what it does not find afterwards says little. */
async function controlScan(
  { ledger, settings, signal, scan = runScan }: ErasureParts,
  going: readonly Going[],
): Promise<void> {
  const { dataDir } = settings;
  const subjects = going.map(({ request, full }) => ({
    request: request.id,
    identity: full.identity,
    values: full.values,
  }));
  const touched = new Set(going.flatMap(({ scope }) => scope.files.map(placeOf)));
  const passedOver = listPersonalFiles(dataDir).filter((place) => !touched.has(place));
  const report = await scan(
    { dataDir, phase: 'control', subjects, fence: false, extraPaths: [], passedOver },
    { signal },
  );
  const scanOf = ({ request, needles, shared, hits }: (typeof report.subjects)[number]): LedgerRecord => ({
    type: 'scan',
    requests: [request],
    phase: 'control',
    files: report.files,
    bytes: report.bytes,
    // What other people's rows hold too proves nothing.
    needles: needles - shared,
    hits,
    passed_over: passedOver.length,
    ...leftOutOf(going.find((one) => one.request.id === request)?.full),
  });
  ledger.append(report.subjects.map(scanOf));
}

function raiseFence(parts: ErasureParts, going: readonly Going[]): number {
  const { db, ledger, clock, settings } = parts;
  const epoch = ledger.epoch() + 1;
  const at = isoTime(clock.now());
  const entries = new Map(
    going.map(({ request: { id }, full }) => {
      // An earlier generation may have known more.
      const known = [...standingFence(db, id), ...fenceEntries(db, identifiersOf(full.identity))];
      return [id, [...new Map(known.map((entry) => [`${entry.kind} ${entry.mac}`, entry])).values()]];
    }),
  );
  ledger.append(
    going.map(({ request: { id, generation } }) => ({
      type: 'fencing',
      request: id,
      generation,
      epoch,
      fence: entries.get(id) ?? [],
    })),
  );
  const eraseRows = prepareEraseRows(db);
  let rows = 0;
  db.transaction(() => {
    for (const { request, scope, full } of going) {
      const { id } = request;
      addFence(db, { id, epoch, at }, entries.get(id) ?? []);
      rows += eraseRows(id, full.identity, scope.quarantined, at);
      endPassesThatName(db, full.identity, at);
      for (const target of fixedTargets) addTarget(db, id, target, null, at);
      for (const hit of scope.files) renewTarget(db, id, fileTarget(hit), hit.rows, at);
      updateRequest(db, id, {
        fencedAt: at,
        epoch,
        reason: null,
        ...countsOf(scope),
        box: closeBox(settings.dataDir, id, full),
      });
    }
    trimRecordings(
      db,
      going.flatMap(({ full }) => full.identity.distinct_id),
      at,
    );
    setEpoch(db, epoch);
  }).immediate();
  ledger.append(
    going.map(({ request: { id, generation } }) => ({ type: 'fenced', request: id, generation, epoch })),
  );
  // The service had no such person before the request was made of it: it need not be asked once more.
  for (const { request } of going) {
    const isOpen = (target: FixedTarget): boolean => statusOf(db, request.id, target) !== 'done';
    if (request.origin !== 'upstream') continue;
    if (isOpen('upstream.person'))
      settle(parts, [request], 'upstream.person', { result: 'already_absent', assurance: 'observed' });
    if (isOpen('upstream.events'))
      settle(parts, [request], 'upstream.events', { result: 'not_verifiable', assurance: 'not_verifiable' });
  }
  return rows;
}

function identifiersOf(identity: Identity): { kind: (typeof identifierKinds)[number]; value: string }[] {
  return identifierKinds.flatMap((kind) => identity[kind].map((value) => ({ kind, value })));
}

function update(db: ErasureParts['db'], id: string, change: Parameters<typeof updateRequest>[2]): void {
  db.transaction(() => updateRequest(db, id, change)).immediate();
}
