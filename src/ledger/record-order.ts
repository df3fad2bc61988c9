import { collectPublications } from './publications.ts';
import type { FindingCode } from './finding.ts';
import { fixedTargets, isHere, readTarget, type TargetName } from './target.ts';
import type { TargetResult } from './vocabulary.ts';
import { isOfRequest, requestsOf, type LedgerRecord, type RequestRecord } from './record.ts';

/** How far a request is, by the records of it so far. */
type Phase =
  | 'received'
  | 'scoped'
  | 'held'
  | 'approved'
  | 'refused'
  | 'cancelled'
  | 'fencing'
  | 'fenced'
  | 'verified'
  | 'certified'
  | 'sealed'
  | 'reopened';

const beforeFence: readonly Phase[] = ['received', 'scoped', 'held', 'approved', 'fencing'];
/** Only in these is anything destroyed. */
const executing: readonly Phase[] = ['fenced', 'verified', 'reopened'];
const sinceFenced: readonly Phase[] = [...executing, 'certified', 'sealed'];

/** Records that are about one request by itself, and may be about it in several phases. */
type StepType = Exclude<RequestRecord['type'], 'received' | 'intent' | 'result' | 'scan'>;

/**
 * In which phases of a request a record may come, and to which it leads; null leaves the phase. Each may come again in the
 * phase it leads to: a kill between writing a record and acting upon it leaves the program to write it again.
 */
const steps: Record<StepType, { from: readonly Phase[]; to: Phase | null }> = {
  scoped: { from: ['received', 'scoped', 'held', 'approved', 'fencing'], to: 'scoped' },
  held: { from: ['scoped', 'held', 'approved', 'fencing'], to: 'held' },
  approved: { from: ['scoped', 'held', 'approved'], to: 'approved' },
  amended: { from: [...beforeFence, ...executing], to: null },
  refused: { from: [...beforeFence, 'refused'], to: 'refused' },
  cancelled: { from: [...beforeFence, 'cancelled'], to: 'cancelled' },
  // From `held` too: what it waited for may have gone, such as too many requests at once.
  fencing: { from: ['scoped', 'held', 'approved', 'fencing', ...executing], to: 'fencing' },
  fenced: { from: ['fencing', 'fenced'], to: 'fenced' },
  locally_verified: { from: executing, to: 'verified' },
  awaiting_upstream: { from: executing, to: null },
  attention: { from: [...beforeFence, ...sinceFenced], to: null },
  reopened: { from: sinceFenced, to: 'reopened' },
  certified: { from: ['verified', 'certified'], to: 'certified' },
  sealed: { from: ['certified', 'refused', 'cancelled', 'sealed'], to: 'sealed' },
  readmitted: { from: sinceFenced, to: null },
  acknowledged: { from: sinceFenced, to: null },
};

/** Results that say that something was destroyed; the others say that there was nothing to do, or nothing to see. */
const destructive: readonly TargetResult[] = ['deleted', 'removed', 'purged', 'rewritten', 'deletion_requested'];

/** A certificate says of each of these how it ended. Ledgers of the first version do not name `aux`. */
const certifiedTargets = fixedTargets.filter((target) => target !== 'aux');
/** Of these, a scan alone shows that they are reached. */
const scannedTargets: readonly string[] = ['mirror', 'aux'];

type Request = {
  phase: Phase;
  generation: number;
  /** Of the last `fencing`. */
  epoch: number;
  /** Whether there is no way back. */
  isFenced: boolean;
  /** Whether its last scan looked for something, found nothing, and nothing was destroyed here since. */
  isClean: boolean;
  /** Whether a control scan has found the person: only then is it shown that a scan can. */
  isControlled: boolean;
  /** Whether it lived longer than any request may. */
  isOverdue: boolean;
  intents: Set<string>;
  /** The targets that have come to an end, in any generation. */
  ended: Set<string>;
  results: Map<string, TargetResult>;
};

/** What an order of records allows next. */
export type RecordOrder = {
  /** Takes the next record; what is wrong with it, if anything. A request of which one is wrong is judged no further. */
  take(record: LedgerRecord): FindingCode | undefined;
};

/** The order of records in a ledger, from its start. */
export function recordOrder(): RecordOrder {
  const requests = new Map<string, Request>();
  const broken = new Set<string>();
  const publications = collectPublications();
  let epoch = 0;

  /** Judges a record for one of its requests, and moves that on when nothing is wrong. */
  const takeFor = (id: string, record: RequestRecord): FindingCode | undefined => {
    const request = requests.get(id);
    if (record.type === 'received') {
      if (request) return 'received_twice';
      if (record.generation !== 1) return 'wrong_generation';
      requests.set(id, newRequest());
      return undefined;
    }
    if (!request) return 'unknown_request';
    if (record.type === 'intent') return takeIntent(request, record.target);
    if (record.type === 'result') return takeResult(request, record);
    if (record.type === 'scan') {
      if (record.phase === 'verify') request.isClean = record.hits === 0 && record.files > 0 && record.needles > 0;
      else if (record.hits > 0) request.isControlled = true;
      return undefined;
    }
    const problem = stepProblem(request, record, epoch);
    if (problem) return problem;
    takeStep(request, record);
    return undefined;
  };

  return {
    take: (record) => {
      if (record.type === 'publishing' || record.type === 'published') return publications.take(record);
      if (record.type === 'replayed')
        return record.epoch_from <= record.epoch_to && record.epoch_to <= epoch ? undefined : 'wrong_epoch';
      if (!isOfRequest(record)) return undefined;
      let found: FindingCode | undefined;
      for (const id of requestsOf(record)) {
        if (broken.has(id)) continue;
        const problem = takeFor(id, record);
        if (problem) broken.add(id);
        found ??= problem;
      }
      // Also where that request is out of order, which is no fault of the others.
      if (record.type === 'fenced' && record.epoch === epoch + 1) epoch += 1;
      return found;
    },
  };
}

function newRequest(): Request {
  return {
    phase: 'received',
    generation: 1,
    epoch: 0,
    isFenced: false,
    isClean: false,
    isControlled: false,
    isOverdue: false,
    intents: new Set(),
    ended: new Set(),
    results: new Map(),
  };
}

type Step = Extract<LedgerRecord, { type: StepType }>;

function stepProblem(request: Request, record: Step, epoch: number): FindingCode | undefined {
  // Said again after a kill, or the next generation.
  const isNext = record.type === 'reopened' && request.phase !== 'reopened';
  if (record.generation !== request.generation + (isNext ? 1 : 0)) return 'wrong_generation';
  if (!mayCome(request, record)) return 'wrong_order';
  if (record.type === 'fencing' && record.continued && request.phase !== 'fencing') return 'wrong_order';
  if (record.type === 'fencing' && record.epoch !== epoch + 1) return 'wrong_epoch';
  if (record.type === 'fencing' && record.continued && record.epoch !== request.epoch) return 'wrong_epoch';
  if (record.type === 'fenced' && record.epoch !== request.epoch) return 'wrong_epoch';
  const saysClean = record.type === 'locally_verified' || (record.type === 'certified' && record.certificate !== null);
  if (saysClean && !request.isClean) return 'verified_without_scan';
  if (record.type !== 'certified' || record.certificate === null) return undefined;
  if (request.intents.size > 0) return 'certified_with_open_intent';
  return certifiedTargets.every((target) => request.ended.has(target)) ? undefined : 'certified_without_target';
}

function mayCome({ phase, isFenced, isOverdue }: Request, record: Step): boolean {
  // Its identifiers go when its time is over, however far it is; then nothing more can be certified of it.
  if (record.type === 'sealed' && isOverdue) return true;
  if (record.type === 'certified' && record.certificate === null && executing.includes(phase)) return true;
  if (record.type === 'scoped' && phase === 'reopened') return true;
  if ((record.type === 'refused' || record.type === 'cancelled') && isFenced) return false;
  return steps[record.type].from.includes(phase);
}

function takeStep(request: Request, record: Step): void {
  const isFurtherScope = record.type === 'scoped' && request.isFenced;
  request.phase = (isFurtherScope ? null : steps[record.type].to) ?? request.phase;
  if (record.generation > request.generation) request.results.clear();
  request.generation = record.generation;
  if (record.type === 'fencing') request.epoch = record.epoch;
  if (record.type === 'fenced') request.isFenced = true;
  if (record.type === 'fenced' || record.type === 'reopened') request.isClean = false;
  if (record.type === 'attention' && record.reason === 'life_exceeded') request.isOverdue = true;
}

function takeIntent(request: Request, target: TargetName): FindingCode | undefined {
  if (!executing.includes(request.phase)) return 'wrong_order';
  request.intents.add(target);
  if (isHere(readTarget(target))) {
    // Something here is destroyed after all: what was scanned before says nothing of what is there afterwards.
    request.isClean = false;
    if (request.phase === 'verified') request.phase = 'fenced';
  }
  return undefined;
}

function takeResult(
  request: Request,
  { target, result, assurance }: Extract<LedgerRecord, { type: 'result' }>,
): FindingCode | undefined {
  if (!executing.includes(request.phase)) return 'wrong_order';
  const isIntended = request.intents.has(target);
  // After a kill between writing a result and acting upon it, the same one is written again.
  const isRepeated = request.results.get(target) === result;
  if (destructive.includes(result) && !isIntended && !isRepeated) return 'result_without_intent';
  if (scannedTargets.includes(target) && assurance === 'verified' && !request.isControlled)
    return 'verified_without_control';
  request.intents.delete(target);
  request.ended.add(target);
  request.results.set(target, result);
  return undefined;
}
