import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { Identity } from '../../contract/identity.ts';
import type { Service } from '../../client/service.ts';
import type { Settings } from '../../config/settings.ts';
import type { TargetName } from '../../ledger/target.ts';
import type { AttentionReason } from '../../ledger/vocabulary.ts';
import { listTargets, type ErasureTarget } from '../../mirror/erasure-targets.ts';
import { callAttention, note, type RequestRef, type StepParts } from '../request/target-journal.ts';
import type { Capabilities } from './capabilities.ts';
import { inBatches as inBatchesOf } from '../../core/batches.ts';

/** A recording in a playlist. */
export type Membership = { shortId: string; recordingId: string };

/** Whom a request wants gone from the service, as far as it is known. Personal data. */
export type UpstreamSubject = RequestRef & {
  identity: Identity;
  /** When the newest of its persons was created, by the service's clock; null where nobody knows. */
  createdAt: string | null;
  deleteEvents: boolean;
  memberships: readonly Membership[];
};

/** A step that could not be taken this time. Its target stays as it was. */
export type FailedStep = { requestId: string; target: TargetName; error: AppError };

/** What the steps towards the service need. */
export type Lane = StepParts & {
  service: Service;
  settings: Pick<Settings, 'budget' | 'deletions' | 'retry'>;
  signal: AbortSignal;
  capabilities: () => Promise<Capabilities>;
  /** Whether a person's path takes the uuid, too. As documented it does not: then the first answer 400 tells. */
  paths: { takeUuids: boolean };
  failed: FailedStep[];
  /** Requests whose deletion was accepted by an answer without a `Date`. */
  withoutDate: Set<string>;
};

type UpstreamTarget = Extract<TargetName, `upstream.${string}`>;

/** So many steps that failed are no single cases any more. */
const failuresMax = 10;

/** A target of a request that is still open; undefined where it is done, or none of the request's. */
export function openTarget(
  { db }: Pick<Lane, 'db'>,
  { id }: RequestRef,
  name: UpstreamTarget,
): ErasureTarget | undefined {
  return listTargets(db, id).find(({ target, status }) => target === name && status !== 'done');
}

/** Whether a target is worth an attempt now. */
export function isDue({ clock }: Pick<Lane, 'clock'>, target: ErasureTarget | undefined): boolean {
  if (!target) return false;
  return target.notBefore === null || Date.parse(target.notBefore) <= clock.now();
}

/**
 * When the newest life of a subject's person began that is known of, by the service's clock: the newest of what was sent
 * for deletion may be later than what was known before. Null where nobody knows.
 */
export function lastCreatedAt({ db }: Pick<Lane, 'db'>, { id, createdAt }: UpstreamSubject): string | null {
  const person = listTargets(db, id).find(({ target }) => target === 'upstream.person');
  return person?.sentCreatedAt ?? createdAt;
}

/** From when on a target is to be asked for again. */
export function confirmNotBefore({ clock, settings }: Pick<Lane, 'clock' | 'settings'>): string {
  return isoTime(clock.now() + settings.deletions.confirmAfterSeconds * 1000);
}

/** Notes that the service has once more said that nothing is left. */
export function confirm(lane: Lane, subject: RequestRef, target: ErasureTarget, name: UpstreamTarget): void {
  note(lane, subject, name, {
    status: 'waiting',
    reason: null,
    confirmations: target.confirmations + 1,
    confirmedAt: isoTime(lane.clock.now()),
    notBefore: confirmNotBefore(lane),
  });
}

/** Calls for attention where it has not been called for the same reason yet. */
export function raise(lane: Lane, subject: RequestRef, name: UpstreamTarget, reason: AttentionReason): void {
  const target = openTarget(lane, subject, name);
  if (target && (target.status !== 'attention' || target.reason !== reason))
    callAttention(lane, subject, name, reason);
}

const refusedAgainAfterMs = 86_400_000;

/** Calls for attention to a request that the service refuses for good; it is made again a day later. */
export function raiseRefusal(lane: Lane, subject: RequestRef, name: UpstreamTarget): void {
  raise(lane, subject, name, 'upstream_refuses');
  note(lane, subject, name, { notBefore: isoTime(lane.clock.now() + refusedAgainAfterMs) });
}

/**
 * Takes a step for each subject, as many at once as the budget allows, and returns what they returned. A step at whose
 * request the service fails is put down, and the others go on; a refused key, a service that cannot be reached, or too
 * many of the former end it with that error, once all that have begun have ended.
 */
export async function eachSubject<S extends RequestRef, T>(
  lane: Lane,
  subjects: readonly S[],
  target: UpstreamTarget,
  step: (subject: S) => Promise<T>,
): Promise<T[]> {
  const attempt = async (subject: S): Promise<T[]> => {
    try {
      return [await step(subject)];
    } catch (error) {
      if (!isSingleCase(error) || lane.failed.length + 1 >= failuresMax) throw error;
      lane.failed.push({ requestId: subject.id, target, error });
      return [];
    }
  };
  return (await inBatches(lane, subjects, attempt)).flat();
}

/** Whether an error may be about the one thing that was asked for. */
function isSingleCase(error: unknown): error is AppError {
  return error instanceof AppError && ['service', 'rejected', 'oversize'].includes(error.code);
}

/** Does something with each item, as many at once as the budget allows. Throws once all that have begun have ended. */
export async function inBatches<T, R>(
  { settings, signal }: Pick<Lane, 'settings' | 'signal'>,
  items: readonly T[],
  act: (item: T) => Promise<R>,
): Promise<R[]> {
  return await inBatchesOf(items, { atOnce: settings.budget.concurrency, signal }, act);
}
