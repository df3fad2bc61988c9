import type { LedgerEntry } from './entry.ts';
import { isOfRequest, requestsOf, type LedgerRecord, type RequestRecord } from './record.ts';
import type { TargetName } from './target.ts';
import type { Assurance, AttentionReason, RequestReason, RequestState, TargetResult } from './vocabulary.ts';

/** An entry of the ledger: its number, from 0, and when it was written. */
type Mark = { entry: number; at: string };

/** A target that has come to its end. Rows: null where they were not counted. */
export type EndedTarget = {
  target: TargetName;
  result: TargetResult;
  assurance: Assurance;
  rowsBefore: number | null;
  /** Those of this request alone. */
  rowsRemoved: number | null;
  /** When the lock ends that keeps it; null where none does, or no end is known. */
  until: string | null;
  /** The machines that had copies of it; null where that is not told. */
  machines: readonly string[] | null;
  endedAt: string;
};

/** What a scan read, and what it found. Passed over: published files in which a search had just found no subject. */
type ScanFacts = {
  files: number;
  passedOver: number;
  bytes: number;
  needles: number;
  hits: number;
  /** Texts that were not searched for, where there were any. */
  leftOut?: number;
};

/**
 * All that the ledger says of one request so far. Holds no personal data, and no MACs of its fence: those can be many, and
 * only a restored copy of the mirror needs them.
 */
export type RequestHistory = Pick<
  Extract<LedgerRecord, { type: 'received' }>,
  'request' | 'generation' | 'origin' | 'basis' | 'subject' | 'authorisation'
> & {
  dueAt: string;
  received: Mark;
  state: RequestState;
  reason: RequestReason | null;
  /** The targets that an operator has to look at, and why; and the state without them. */
  attention: Map<TargetName, AttentionReason>;
  stateOtherwise: RequestState;
  /** Why its newest generation was begun; null for the first. */
  reopenedFor: AttentionReason | null;
  deletesEvents: boolean;
  /** The newest fence that stands, and the generation that was fenced. */
  fence: (Mark & { epoch: number; entries: number; generation: number }) | null;
  /** Targets with an intent and no result since. */
  intended: TargetName[];
  /** By name; the last end counts. */
  targets: Map<TargetName, EndedTarget>;
  /** The scans of the newest generation. */
  control: ScanFacts | null;
  verify: ScanFacts | null;
  /** Whether a control scan has found the subject, in any generation. */
  isControlled: boolean;
  verified: Mark | null;
  eventsExpectedBy: string | null;
  /** When this program last deleted the person at the service, in any generation. */
  deletedUpstreamAt: string | null;
  /** Of each generation that reached everything. `sha256` is of the certificate; null where none was made. */
  certified: (Mark & { generation: number; sha256: string | null; reachedAt: string })[];
  sealed: Mark | null;
  /** Its refusal. */
  refused: Mark | null;
  /** When it was refused, given up, or ended by its age without a certificate. */
  endedAt: string | null;
  readmittedAt: string | null;
  /** The consumers of published files that have said, of its newest generation, that they have deleted too; and when. */
  acknowledged: Map<string, string>;
  /**
   * The consumers that a certificate of its newest generation names: those that were asked, and those that had acknowledged
   * before it was certified. Null: nothing was recorded by then.
   */
  consumers: Map<string, string | null>;
  /** Whether the fence was lifted, and no other has been raised since. */
  isReadmitted: boolean;
};

/** The histories of requests, as a ledger is read. */
export type Histories = {
  /** Takes the next entry. */
  take(entry: LedgerEntry): void;
  of(request: string): RequestHistory | undefined;
  all(): Iterable<RequestHistory>;
};

/** Collects the histories of requests; of all, or of those wanted only. */
export function collectHistories(wanted?: ReadonlySet<string>): Histories {
  const histories = new Map<string, RequestHistory>();
  const fencing = new Map<string, number>();
  return {
    take: (entry) => {
      if (!isOfRequest(entry)) return;
      if (entry.type === 'received') {
        if (wanted?.has(entry.request) ?? true) histories.set(entry.request, newHistory(entry));
        return;
      }
      for (const id of requestsOf(entry)) {
        const history = histories.get(id);
        if (!history) continue;
        if (entry.type === 'fencing')
          fencing.set(id, entry.fence.length + (entry.continued ? (fencing.get(id) ?? 0) : 0));
        takeEntry(history, entry, fencing.get(id) ?? 0);
      }
    },
    of: (request) => histories.get(request),
    all: () => histories.values(),
  };
}

/** The histories in a ledger; of all its requests, or of those wanted only. */
export function readHistories(entries: Iterable<LedgerEntry>, wanted?: ReadonlySet<string>): Histories {
  const histories = collectHistories(wanted);
  for (const entry of entries) histories.take(entry);
  return histories;
}

/** When the last thing was reached that a request had to reach: the newest of its ends. Undefined before any. */
export function reachedAt({ targets, verified }: RequestHistory): string | undefined {
  const ends = [...targets.values()].map(({ endedAt }) => endedAt);
  return [...ends, ...(verified ? [verified.at] : [])].toSorted().at(-1);
}

function newHistory(entry: Extract<LedgerEntry, { type: 'received' }>): RequestHistory {
  const { request, generation, origin, basis, subject, authorisation } = entry;
  return {
    request,
    generation,
    origin,
    basis,
    subject,
    authorisation,
    dueAt: entry.due_at,
    deletesEvents: entry.delete_events,
    received: { entry: entry.seq, at: entry.at },
    state: 'received',
    reason: null,
    attention: new Map(),
    stateOtherwise: 'received',
    reopenedFor: null,
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

type Step = Exclude<Extract<LedgerEntry, RequestRecord>, { type: 'received' }>;

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
    case 'approved':
      if (history.fence === null) become(history, 'scoped');
      return;
    case 'amended':
      history.basis = entry.basis;
      history.authorisation = entry.authorisation ?? history.authorisation;
      return;
    case 'held':
      return become(history, 'held', entry.reason);
    case 'refused':
      history.refused = mark;
      history.endedAt = entry.at;
      return end(history, 'refused', entry.reason);
    case 'cancelled':
      history.endedAt = entry.at;
      return end(history, 'cancelled');
    case 'fencing':
      return;
    case 'fenced':
      history.fence = { ...mark, epoch: entry.epoch, entries: fenceEntries, generation: entry.generation };
      history.isReadmitted = false;
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
      for (const name of entry.consumers ?? []) history.consumers.set(name, history.consumers.get(name) ?? null);
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
    case 'acknowledged':
      history.acknowledged.set(entry.consumer, entry.at);
      if (history.certified.every(({ generation }) => generation !== history.generation))
        history.consumers.set(entry.consumer, entry.at);
      return;
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
  history.reopenedFor = entry.reason;
  history.verified = null;
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
