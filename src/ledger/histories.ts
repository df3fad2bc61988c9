import type { LedgerEntry } from './entry.ts';
import { decisionOf, isOfRequest, requestsOf, type RequestRecord } from './record.ts';
import { reachedAt, type Mark, type RequestHistory, type Told } from './request-history.ts';
import type { TargetName } from './target.ts';
import type { RequestReason, RequestState } from './vocabulary.ts';

/** The histories of requests, as a ledger is read. */
export type Histories = {
  /** Takes the next entry. */
  take(entry: LedgerEntry): void;
  /** That of a request for erasure or for access. */
  of(request: string): RequestHistory | undefined;
  /** Those of all requests for erasure, and those for access. */
  all(): Iterable<RequestHistory>;
  access(): Iterable<RequestHistory>;
};

/** Collects the histories of requests. `histories`: those that are known already. */
export function collectHistories(histories = new Map<string, RequestHistory>()): Histories {
  const fencing = new Map<string, number>();
  return {
    take: (entry) => {
      if (!isOfRequest(entry)) return;
      if (entry.type === 'received' || entry.type === 'asked')
        return void histories.set(entry.request, newHistory(entry));
      for (const id of requestsOf(entry)) {
        const history = histories.get(id);
        if (!history) continue;
        if (entry.type === 'fencing')
          fencing.set(id, entry.fence.length + (entry.continued ? (fencing.get(id) ?? 0) : 0));
        takeEntry(history, entry, fencing.get(id) ?? 0);
      }
    },
    of: (request) => histories.get(request),
    all: () => histories.values().filter(({ isAccess }) => !isAccess),
    access: () => histories.values().filter(({ isAccess }) => isAccess),
  };
}

/** The histories of all requests in a ledger. */
export function readHistories(entries: Iterable<LedgerEntry>): Histories {
  const histories = collectHistories();
  for (const entry of entries) histories.take(entry);
  return histories;
}

type First = Extract<LedgerEntry, { type: 'received' | 'asked' }>;

function newHistory(entry: First): RequestHistory {
  const { request, generation, subject, authorisation } = entry;
  const isAccess = entry.type === 'asked';
  return {
    request,
    generation,
    isAccess,
    origin: isAccess ? 'manual' : entry.origin,
    basis: isAccess ? 'consumer_request' : entry.basis,
    subject,
    authorisation,
    dueAt: entry.due_at,
    deletesEvents: !isAccess && entry.delete_events,
    decision: decisionOf(entry),
    received: { entry: entry.seq, at: entry.at },
    scopedAt: null,
    heldAt: null,
    approvedAt: null,
    isSharedLeft: false,
    state: 'received',
    reason: null,
    attention: new Map(),
    stateOtherwise: 'received',
    reopened: null,
    isUnnamed: false,
    fence: null,
    intended: [],
    targets: new Map(),
    control: null,
    verify: null,
    isControlled: false,
    verified: null,
    eventsExpectedBy: null,
    deletedUpstreamAt: null,
    certified: [],
    sealed: null,
    refused: null,
    endedAt: null,
    readmittedAt: null,
    acknowledged: new Map(),
    consumers: new Map(),
    isReadmitted: false,
  };
}

const nothingTold: Told = { at: null, expected: [], seen: {} };

type Step = Exclude<Extract<LedgerEntry, RequestRecord>, First>;

function become(history: RequestHistory, state: RequestState, reason: RequestReason | null = null): void {
  history.stateOtherwise = state;
  const [attention] = history.attention.values();
  history.state = attention === undefined ? state : 'attention';
  history.reason = attention ?? reason;
}

function end(history: RequestHistory, state: RequestState, reason: RequestReason | null = null): void {
  history.attention.clear();
  become(history, state, reason);
}

/** Goes on with a target that an operator had to look at. */
function goOn(history: RequestHistory, target: TargetName): void {
  if (history.attention.delete(target)) become(history, history.stateOtherwise);
}

function takeEntry(history: RequestHistory, entry: Step, fenceEntries: number): void {
  const mark = { entry: entry.seq, at: entry.at };
  switch (entry.type) {
    case 'scoped':
      history.scopedAt = entry.at;
      history.heldAt = null;
      if (history.fence === null) become(history, 'scoped');
      return;
    case 'approved':
      history.approvedAt = entry.at;
      history.isSharedLeft ||= history.state === 'held' && history.reason === 'shared_identifier';
      if (history.fence === null) become(history, 'scoped');
      return;
    case 'amended':
      history.basis = entry.basis;
      history.authorisation = entry.authorisation ?? history.authorisation;
      history.decision = { ...history.decision, ...decisionOf(entry) };
      return;
    case 'held':
      history.heldAt = entry.at;
      history.approvedAt = null;
      return become(history, 'held', entry.reason);
    case 'refused':
      history.refused = mark;
      history.endedAt = entry.at;
      return end(history, 'refused', entry.reason);
    case 'cancelled':
      history.endedAt = entry.at;
      return end(history, 'cancelled');
    case 'answered':
      history.sealed = mark;
      return end(history, 'sealed');
    case 'fencing':
      return;
    case 'fenced':
      history.fence = { ...mark, epoch: entry.epoch, entries: fenceEntries, generation: entry.generation };
      history.isReadmitted = false;
      history.isUnnamed = false;
      return become(history, 'fenced');
    case 'intent':
      if (!history.intended.includes(entry.target)) history.intended.push(entry.target);
      goOn(history, entry.target);
      if (history.stateOtherwise === 'fenced') become(history, 'executing');
      return;
    case 'result':
      return takeResult(history, entry);
    case 'scan':
      return takeScan(history, entry);
    case 'locally_verified':
      history.verified = mark;
      for (const name of entry.consumers ?? []) {
        const expected = entry.expected?.find(({ consumer }) => consumer === name)?.tables ?? [];
        history.consumers.set(name, { ...(history.consumers.get(name) ?? nothingTold), expected });
      }
      return become(history, 'locally_verified');
    case 'awaiting_upstream':
      history.eventsExpectedBy = entry.events_expected_by;
      goOn(history, 'upstream.events');
      return become(history, 'awaiting_upstream');
    case 'attention':
      history.attention.set(entry.target, entry.reason);
      return become(history, history.stateOtherwise);
    case 'reopened':
      return takeReopened(history, entry);
    case 'certified':
      takeCertified(history, mark, entry.certificate);
      return end(history, 'certified');
    case 'sealed':
      return takeSealed(history, mark);
    case 'readmitted':
      history.readmittedAt = entry.at;
      history.isReadmitted = true;
      return;
    case 'acknowledged': {
      const { consumer, at, seen } = entry;
      const isCertified = history.certified.some(({ generation }) => generation === history.generation);
      for (const told of isCertified ? [history.acknowledged] : [history.acknowledged, history.consumers]) {
        const before = told.get(consumer) ?? nothingTold;
        told.set(consumer, {
          ...before,
          at,
          seen: { ...before.seen, ...(seen && { [seen.assurance]: { ...seen, at } }) },
        });
      }
      return;
    }
  }
}

function takeResult(history: RequestHistory, entry: Extract<Step, { type: 'result' }>): void {
  const { target, result, assurance, rows_before: rowsBefore = null, rows_removed: rowsRemoved = null } = entry;
  const { until = null, machines = null } = entry;
  history.intended = history.intended.filter((intended) => intended !== target);
  const ended = { target, result, assurance, rowsBefore, rowsRemoved, until, machines, endedAt: entry.at };
  history.targets.set(target, ended);
  if (target === 'upstream.person' && result === 'deleted') history.deletedUpstreamAt = entry.at;
  goOn(history, target);
}

function takeScan(history: RequestHistory, entry: Extract<Step, { type: 'scan' }>): void {
  const { files, bytes, needles, hits, passed_over: passedOver = 0, left_out: leftOut = 0 } = entry;
  const facts = { files, passedOver, bytes, needles, hits };
  history[entry.phase] = leftOut === 0 ? facts : { ...facts, leftOut };
  if (entry.phase === 'control' && hits > 0) history.isControlled = true;
}

function takeReopened(history: RequestHistory, entry: Extract<Step, { type: 'reopened' }>): void {
  history.generation = entry.generation;
  history.reopened = { entry: entry.seq, at: entry.at, reason: entry.reason };
  history.isUnnamed = entry.unnamed === true;
  // The person is at the service again, and still gone from here.
  if (!history.isUnnamed || entry.reason !== 'listed_again') history.verified = null;
  // It was approved, if it had to be, when it was fenced the first time. Here the service is asked once more who the person is.
  history.scopedAt = ['listed_again', 'recreated', 'shown_wider'].includes(entry.reason) ? null : entry.at;
  history.approvedAt = entry.at;
  history.heldAt = null;
  history.control = null;
  history.verify = null;
  history.sealed = null;
  history.endedAt = null;
  history.acknowledged.clear();
  history.consumers.clear();
  end(history, 'executing', entry.reason);
}

function takeSealed(history: RequestHistory, mark: Mark): void {
  history.sealed = mark;
  if (history.endedAt !== null) return;
  if (history.certified.some(({ generation }) => generation === history.generation)) return end(history, 'sealed');
  // Only its age lets a request end so.
  history.endedAt = mark.at;
  end(history, 'sealed', 'life_exceeded');
}

/** After a kill, the same word is written again: the last one counts. */
function takeCertified(history: RequestHistory, mark: Mark, sha256: string | null): void {
  const { generation, certified } = history;
  history.certified = [
    ...certified.filter((other) => other.generation !== generation),
    { ...mark, generation, sha256, reachedAt: reachedAt(history) ?? mark.at },
  ];
}
