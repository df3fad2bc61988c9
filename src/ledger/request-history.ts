import type { Decision, LedgerRecord, Seen } from './record.ts';
import type { TargetName } from './target.ts';
import type { Assurance, AttentionReason, RequestReason, RequestState, TargetResult } from './vocabulary.ts';

/** An entry of the ledger: its number, from 0, and when it was written. */
export type Mark = { entry: number; at: string };

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
 * What the ledger says of a consumer: when it was last recorded that it has deleted too (null: it was not), its tables that can hold
 * people, and what was last seen of its tables with each assurance.
 */
export type Told = {
  at: string | null;
  expected: readonly string[];
  seen: Partial<Record<Seen['assurance'], Seen & { at: string }>>;
};

/** Of a consumer: the tables that were seen, how and when; and those that nobody has covered. Neither where there are none. */
export function coverageOf({ expected, seen: { attested, observed } }: Told) {
  const all = [attested, observed].filter((one) => one !== undefined);
  const covered = all.flatMap(({ tables }) => tables);
  const named = new Set([...expected, ...all.flatMap((one) => one.not_covered)]);
  const bare = [...named].filter((table) => !covered.includes(table)).toSorted();
  const seen = all.map(({ not_covered: _left, ...one }) => one);
  return { ...(seen.length > 0 && { seen }), ...(bare.length > 0 && { not_covered: bare }) };
}

/**
 * All that the ledger says of one request so far. Holds no personal data, and no MACs of its fence: those can be many, and
 * only a restored copy of the mirror needs them.
 */
export type RequestHistory = Pick<
  Extract<LedgerRecord, { type: 'received' }>,
  'request' | 'generation' | 'origin' | 'basis' | 'subject' | 'authorisation'
> & {
  /** Whether it is for access, not for erasure: then it is received, and then cancelled, or sealed as it is answered. */
  isAccess: boolean;
  dueAt: string;
  received: Mark;
  /** When its person was found first, when it was last held, and when it was approved since; null where that counts no more. */
  scopedAt: string | null;
  heldAt: string | null;
  approvedAt: string | null;
  /** Whether it was held for what is a living person's too, and approved: that was left to the other person. */
  isSharedLeft: boolean;
  state: RequestState;
  reason: RequestReason | null;
  /** The targets that an operator has to look at, and why; and the state without them. */
  attention: Map<TargetName, AttentionReason>;
  stateOtherwise: RequestState;
  /** Why its newest generation was begun; null for the first. */
  reopened: (Mark & { reason: AttentionReason }) | null;
  /** Whether it was begun without identifiers: the fence from before stands for it. */
  isUnnamed: boolean;
  deletesEvents: boolean;
  /** How it was decided, as far as the operator states it. */
  decision: Decision;
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
  acknowledged: Map<string, Told>;
  /**
   * The consumers that a certificate of its newest generation names: those that were asked, and those that had acknowledged
   * before it was certified.
   */
  consumers: Map<string, Told>;
  /** Whether the fence was lifted, and no other has been raised since. */
  isReadmitted: boolean;
};

/** Whether a request was reached, or cancelled, after it was due. What reopened it once it had been reached in time makes it no later. */
export function isLate({ certified, state, endedAt, dueAt }: RequestHistory): boolean {
  return (certified[0]?.reachedAt ?? (state === 'cancelled' ? endedAt : null) ?? '') > dueAt;
}

/** When the last thing was reached that a request had to reach: the newest of its ends. Undefined before any. */
export function reachedAt({ targets, verified }: RequestHistory): string | undefined {
  const ends = [...targets.values()].map(({ endedAt }) => endedAt);
  return [...ends, ...(verified ? [verified.at] : [])].toSorted().at(-1);
}

/** Whether a request was ended by its age: without a certificate, or with one that does not say that the person left the service. */
export function isUnproved(
  { state, reason }: { state: RequestState; reason: string | null },
  targets: Iterable<{ target: unknown; result: TargetResult | null }>,
): boolean {
  if (state === 'sealed' && reason === 'life_exceeded') return true;
  for (const { target, result } of targets)
    if (target === 'upstream.person' && (result === 'still_present' || result === 'not_verifiable')) return true;
  return false;
}
