import { stringifyExactJson } from '../core/exact-json.ts';
import { requestDifferences } from '../erasure/bound/differences.ts';
import type { Settings } from '../config/settings.ts';
import { isDatedAhead } from '../core/present.ts';
import { readTarget } from '../ledger/target.ts';
import { kindOfTarget, type TargetKind } from '../ledger/vocabulary-words.ts';
import type { BoundPart, Evidence, RequestState, TargetResult } from '../ledger/vocabulary.ts';
import { listCheckpointSizes, readCheckpointFile, readLedgerOrigin } from '../ledger/checkpoint.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { readLedger } from '../ledger/ledger.ts';
import { isUnproved, type RequestHistory } from '../ledger/request-history.ts';
import type { Database } from '../mirror/database.ts';
import { isOverdue } from '../mirror/erasure-requests.ts';
import { readDeletionFeed, type DeletionFeed } from '../mirror/feeds.ts';
import { readFenceUse, type FenceUse } from '../mirror/fence.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { isOpen, reportRequest, strength, type ReportedRequest } from './reported-request.ts';
import {
  distributionOf,
  progressOf,
  spreadOf,
  type DurationClass,
  type ProgressOverTime,
  type Spread,
} from './statistics.ts';

const isUnprovedHere = (request: ReportedRequest): boolean => isUnproved(request, request.targets);

/** Each of the totals: its name on a page, and the requests that it counts. */
const counted = {
  received: ['Received', () => true],
  complete: ['Complete', (request) => request.completedAt !== null && !isUnprovedHere(request)],
  open: ['Open', isOpen],
  overdue: ['Overdue', ({ isOverdue }) => isOverdue],
  reopened: ['Opened again', ({ generation }) => generation > 1],
  late: ['Late', ({ isLate }) => isLate],
  held: ['Held', ({ state }) => state === 'held'],
  attention: ['Need attention', ({ state }) => state === 'attention'],
  refused: ['Refused', ({ state }) => state === 'refused'],
  cancelled: ['Cancelled', ({ state }) => state === 'cancelled'],
  unproved: ['Ended unproved', isUnprovedHere],
} as const satisfies Record<string, readonly [string, (request: ReportedRequest) => boolean]>;

/** The totals by their names on a page. */
export const totalColumns = Object.entries(counted).map(([total, [heading]]) => ({
  total: total as keyof Totals,
  heading,
}));

/** Counts of requests by how far they are. */
type Totals = Record<keyof typeof counted, number>;

/** The report of a period for an auditor. Holds no personal data. */
export type AuditReport = {
  formatVersion: 1;
  /** First and last day, both included, in UTC. The report is about the requests that were received on these days. */
  from: string;
  to: string;
  madeAt: string;
  totals: Totals;
  byState: Partial<Record<RequestState, number>>;
  byMonth: { month: string; totals: Totals }[];
  /** Requests for access that were received on these days. */
  access: { received: number; answered: number; cancelled: number; open: number; overdue: number; late: number };
  /** Requests from before the period that are still open. */
  earlierOpen: number;
  /** Requests whose receipt a clock that was ahead has dated after the period, and later than now, and that are still open. */
  datedAheadOpen: number;
  times: { here: Spread; complete: Spread };
  distribution: { here: DurationClass[]; complete: DurationClass[] };
  progress: ProgressOverTime;
  refusedFor: Record<string, number>;
  heldFor: Record<string, number>;
  /** Results of targets by kind of target (`snapshot` for all files), weakest first. */
  targetEnds: { kind: TargetKind; result: TargetResult; evidence: Evidence; targets: number }[];
  fence: FenceUse;
  feed: DeletionFeed & {
    retentionDays: number;
    published: { snapshotId: string; createdAt: string; rows: number } | null;
  };
  ledger: {
    origin: string | null;
    entries: number;
    rootHash: string;
    /** The newest checkpoint that was signed, and how many entries it covers. */
    checkpoint: { entries: number; text: string } | null;
  };
  /** What mirror.db says otherwise than the ledger now, each in one sentence. The report follows the ledger. */
  differences: string[];
  /** What was found not to be as the ledger says, and what was mended, in the period, oldest first. */
  state: ReportedState[];
  /** Drills of the period, oldest first: erasures of an invented person. */
  drills: ReportedDrill[];
  /** Oldest first. */
  requests: ReportedRequest[];
};

/** A drill. `report`: SHA-256 of its report. */
type ReportedDrill = { at: string; outcome: 'passed' | 'failed'; steps: number; report: string };

/** A finding that something was not as the ledger says, or its repair. `items`: how many things. */
type ReportedState = { at: string; event: 'differs' | 'mended'; part: BoundPart; items: number };

/** The sources of a report. */
export type ReportParts = { db: Database; settings: Pick<Settings, 'dataDir' | 'erasure' | 'export'>; nowMs: number };

/**
 * Gathers the report of a period of days (`2026-11-20`), by default from the first request to today. Reads the ledger's
 * entries once; what it keeps of them grows with the requests only. Throws `storage` when ledger or manifest is damaged.
 */
export function gatherReport(
  { db, settings, nowMs }: ReportParts,
  period: { from?: string | undefined; to?: string | undefined } = {},
): AuditReport {
  const { dataDir, erasure } = settings;
  const madeAt = new Date(nowMs).toISOString();
  const ledger = readLedger(dataDir);
  const { drills, state } = readBesides(ledger.entries());
  const histories = [...ledger.histories.all()].toSorted((a, b) => a.received.entry - b.received.entry);
  const to = period.to ?? madeAt.slice(0, 10);
  const access = [...ledger.histories.access()];
  const [first = madeAt] = [madeAt, ...[...histories, ...access].map(({ received }) => received.at)].toSorted();
  const from = period.from ?? first.slice(0, 10);
  const all = histories.map((history) => reportRequest(db, history, { madeAt, consumers: settings.export.consumers }));
  const requests = all.filter(({ receivedAt }) => isWithin(receivedAt, from, to));
  const hereMs = requests.flatMap((request) => request.hereMs ?? []);
  const completeMs = requests.flatMap((request) => request.completeMs ?? []);
  const { size, rootHash } = ledger.head();
  return {
    formatVersion: 1,
    from,
    to,
    madeAt,
    totals: totalsOf(requests),
    byState: countBy(requests, ({ state }) => state),
    byMonth: [...Map.groupBy(requests, ({ receivedAt }) => receivedAt.slice(0, 7))]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([month, received]) => ({ month, totals: totalsOf(received) })),
    access: accessOf(
      access.filter(({ received }) => isWithin(received.at, from, to)),
      madeAt,
    ),
    earlierOpen: all.filter((request) => request.receivedAt.slice(0, 10) < from && isOpen(request)).length,
    datedAheadOpen: all.filter(
      (request) =>
        request.receivedAt.slice(0, 10) > to && isDatedAhead(Date.parse(request.receivedAt), nowMs) && isOpen(request),
    ).length,
    times: { here: spreadOf(hereMs), complete: spreadOf(completeMs) },
    distribution: { here: distributionOf(hereMs), complete: distributionOf(completeMs) },
    progress: progressOf(requests, { from, to }),
    refusedFor: countBy(requests.filter(counted.refused[1]), ({ reason }) => reason ?? 'unknown'),
    heldFor: countBy(requests.filter(counted.held[1]), ({ reason }) => reason ?? 'unknown'),
    targetEnds: targetEndsOf(requests),
    fence: readFenceUse(db, ...requests.map(({ request }) => request)),
    feed: { ...readDeletionFeed(db), retentionDays: erasure.feedRetentionDays, published: publishedFeed(dataDir) },
    ledger: {
      origin: readLedgerOrigin(dataDir) ?? null,
      entries: size,
      rootHash,
      checkpoint: newestCheckpoint(dataDir),
    },
    differences: [
      ...requestDifferences(db, ledger).map(({ sentence }) => sentence),
      ...histories.flatMap((history) => emptiedFence(db, history)),
    ],
    state: state.filter(({ at }) => isWithin(at, from, to)),
    drills: drills.filter(({ at }) => isWithin(at, from, to)),
    requests,
  };
}

/** How requests for access stand at a time. */
function accessOf(histories: readonly RequestHistory[], at: string): AuditReport['access'] {
  const count = (which: (history: RequestHistory) => boolean): number => histories.filter(which).length;
  const isOpen = ({ state }: RequestHistory): boolean => state === 'received';
  return {
    received: histories.length,
    answered: count(({ sealed }) => sealed !== null),
    cancelled: count(({ state }) => state === 'cancelled'),
    open: count(isOpen),
    overdue: count(
      (history) => isOpen(history) && isOverdue({ receivedAt: history.received.at, dueAt: history.dueAt }, at),
    ),
    late: count(({ sealed, dueAt }) => sealed !== null && sealed.at > dueAt),
  };
}

/** Says so where the mirror has nothing of a fence that stands by the ledger. `audit verify` compares each of its entries. */
function emptiedFence(db: Database, { request, fence, isReadmitted }: RequestHistory): string[] {
  if (fence === null || fence.entries === 0 || isReadmitted || readFenceUse(db, request).entries > 0) return [];
  return [`mirror.db, table fence: it has no entry of request ${request}; the ledger says ${fence.entries}`];
}

/** What the ledger has beside the requests: drills, and what was found not to be as it says, or mended. */
function readBesides(entries: Iterable<LedgerEntry>): { drills: ReportedDrill[]; state: ReportedState[] } {
  const drills: ReportedDrill[] = [];
  const state: ReportedState[] = [];
  for (const entry of entries)
    if (entry.type === 'drill') {
      const { at, outcome, steps, report } = entry;
      drills.push({ at, outcome, steps, report });
    } else if (entry.type === 'differs' || entry.type === 'mended')
      state.push({ at: entry.at, event: entry.type, part: entry.part, items: entry.items });
  return { drills, state };
}

function isWithin(at: string, from: string, to: string): boolean {
  const day = at.slice(0, 10);
  return day >= from && day <= to;
}

function totalsOf(requests: readonly ReportedRequest[]): Totals {
  const counts = Object.entries(counted).map(([name, [, isCounted]]) => [name, requests.filter(isCounted).length]);
  return Object.fromEntries(counts) as Totals;
}

function countBy<K extends string>(
  requests: readonly ReportedRequest[],
  keyOf: (request: ReportedRequest) => K,
): Record<K, number> {
  const groups = [...Map.groupBy(requests, keyOf)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(groups.map(([key, group]) => [key, group.length])) as Record<K, number>;
}

function targetEndsOf(requests: readonly ReportedRequest[]): AuditReport['targetEnds'] {
  const ends = new Map<string, AuditReport['targetEnds'][number]>();
  for (const { targets } of requests)
    for (const { target, result, evidence } of targets) {
      if (result === null || evidence === null) continue;
      const kind = kindOfTarget(readTarget(target));
      const name = `${kind} ${result} ${evidence}`;
      const end = ends.get(name) ?? { kind, result, evidence, targets: 0 };
      ends.set(name, { ...end, targets: end.targets + 1 });
    }
  return [...ends]
    .toSorted(([a, x], [b, y]) => strength(x.evidence) - strength(y.evidence) || (a < b ? -1 : 1))
    .map(([, end]) => end);
}

function publishedFeed(dataDir: string): AuditReport['feed']['published'] {
  const files = publishedFilesIn(dataDir);
  const current = files.readCurrent().snapshots['deletions'];
  if (!current) return null;
  const manifest = files.readManifest({ dataset: 'deletions', snapshotId: current.snapshot_id });
  return { snapshotId: current.snapshot_id, createdAt: manifest.created_at, rows: manifest.rows };
}

function newestCheckpoint(dataDir: string): AuditReport['ledger']['checkpoint'] {
  const folder = ledgerFolder(dataDir);
  const entries = listCheckpointSizes(folder).at(-1);
  const text = entries === undefined ? undefined : readCheckpointFile(folder, entries);
  return entries === undefined || text === undefined ? null : { entries, text };
}

/** The report as JSON, in pieces: the text of many requests takes more memory than they do. */
export function* reportJson({ requests, ...rest }: AuditReport): Generator<string> {
  yield stringifyExactJson(rest, 2).slice(0, -'\n}'.length);
  let before = ',\n  "requests": [';
  for (const request of requests) {
    yield `${before}\n    ${stringifyExactJson(request, 2).replaceAll('\n', '\n    ')}`;
    before = ',';
  }
  yield requests.length > 0 ? '\n  ]\n}\n' : `${before}]\n}\n`;
}
