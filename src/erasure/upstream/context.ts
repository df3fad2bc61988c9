import { isoTime } from '../../core/clock.ts';
import { inBatches as inBatchesOf } from '../../core/batches.ts';
import type { AppError } from '../../core/errors.ts';
import { presentOf } from '../../core/present.ts';
import { isOfOneRow, type Control } from '../../client/control.ts';
import { isSingleCase, singleCasesMax, type Service } from '../../client/service.ts';
import type { ListQueries, Settings } from '../../config/settings.ts';
import type { Part } from '../../job/job-context.ts';
import type { UpstreamTarget } from '../../ledger/target.ts';
import type { AttentionReason } from '../../ledger/vocabulary.ts';
import { listTargets, type ErasureTarget, type TargetChange } from '../../mirror/erasure-targets.ts';
import { callAttentionOnce, note, type RequestRef } from '../request/target-journal.ts';
import { together, type StepContext } from '../request/together.ts';

/** A step that could not be taken this time. Its target stays as it was. */
type FailedStep = { requestId: string; error: AppError };

/**
 * How the service answers to the id of a recording. `shown`: nobody has asked, and it is shown with the person, whom the service seems to
 * have. `unknown`: as to one that it has no route for, or refuses; or with another person's.
 */
export type RecordingLook = 'there' | 'shown' | 'gone' | 'unknown';

/**
 * What the service did with the deletion of a recording. `failed`: an error of its own, so that the effect is unknown. `key`: it
 * does not let this key do it; `service`: it has no such call, or refuses it otherwise.
 */
export const deletionEnds = ['sent', 'failed', 'key', 'service'] as const;
export type RecordingDeletion = (typeof deletionEnds)[number];

/** What became of a recording: as it was seen, or as its deletion ended. */
export type RecordingAnswer = RecordingLook | RecordingDeletion;

/** What the steps towards the service remember of one run, also where others have had their turn meanwhile. */
export type RunMemory = {
  /** Whether a person's path takes the uuid, too. As documented it does not: then the first answer 400 tells. */
  paths: { takeUuids: boolean };
  /** The playlists whose entries the service refuses to remove (403). Those left are not sent in this run. */
  refusedPlaylists: Set<string>;
  /** Whether the service has no call that deletes a recording, and whether the one for many is refused or fails. */
  recordingCalls: { isMissing: boolean; isManyRefused: boolean };
  /** What became of recordings, by request, generation and id: after others have had their turn, the run goes on from here. */
  answers: Map<string, RecordingAnswer>;
};

/** The memory of a run that begins. */
export function newRunMemory(): RunMemory {
  return {
    paths: { takeUuids: true },
    refusedPlaylists: new Set(),
    recordingCalls: { isMissing: false, isManyRefused: false },
    answers: new Map(),
  };
}

/** What the steps towards the service need of a job's context, and what they remember. */
export type UpstreamContext = StepContext &
  RunMemory & {
    service: Service;
    settings: Pick<Settings, 'budget' | 'deletions' | 'retry'> &
      ListQueries & {
        service: Pick<Settings['service'], 'totalTimeoutMs'>;
        erasure: Pick<Settings['erasure'], 'deleteRecordings' | 'maxRequestDays'>;
        playlists: Pick<Settings['playlists'], 'shortIds'>;
      };
    signal: AbortSignal;
    /** Others may want the data folder before all is done (`InTurns`): what has begun at the service ends, and looks are broken off. */
    part: Pick<Part, 'signal' | 'onStep'>;
    failed: FailedStep[];
    /** Requests whose persons the service shows with more distinct ids than were known, and these. They are not deleted yet. */
    wider: { requestId: string; distinctIds: string[] }[];
    /** What a 404 by id is held against. */
    control: Control;
  };

/** A target of a request that is still open; undefined where it is done, or none of the request's. */
export function openTarget(
  { db }: Pick<UpstreamContext, 'db'>,
  { id }: RequestRef,
  name: UpstreamTarget,
): ErasureTarget | undefined {
  return listTargets(db, id).find(({ target, status }) => target === name && status !== 'done');
}

/** What tells the time of a step: two clocks. */
type TimeContext = Pick<UpstreamContext, 'clock' | 'service'>;

/** Whether a target is worth an attempt now. */
export function isDue(context: TimeContext, target: ErasureTarget | undefined): boolean {
  if (!target) return false;
  const { notBefore, waitFrom } = target;
  // A wait of no length is over, whatever clocks say.
  return notBefore === null || notBefore === waitFrom || Date.parse(notBefore) <= presentOf(context).earliestMs;
}

/** Whether a target was changed so lately. A time that is still to come is from a clock that was wrong, and tells nothing. */
export function isLately({ clock }: TimeContext, { updatedAt }: ErasureTarget, withinMs: number): boolean {
  const agoMs = clock.now() - Date.parse(updatedAt);
  return agoMs >= 0 && agoMs < withinMs;
}

/** A wait, with its beginning. `lastsMs`: from now; or `until`, a time (ISO 8601 UTC). */
export function waitOf(
  context: TimeContext,
  length: { lastsMs: number } | { until: string },
): Pick<TargetChange, 'notBefore' | 'waitFrom'> {
  const { latestMs } = presentOf(context);
  const notBefore = 'until' in length ? length.until : isoTime(latestMs + length.lastsMs);
  return { notBefore, waitFrom: isoTime(latestMs) };
}

/** The pause before a target is asked for again. */
export function confirmPause(context: TimeContext & Pick<UpstreamContext, 'settings'>): ReturnType<typeof waitOf> {
  return waitOf(context, { lastsMs: context.settings.deletions.confirmAfterSeconds * 1000 });
}

/** How often a call is made that gets a 429, which has no effect. The budget waits in between, as long as the service asks. */
const sendsMax = 5;

/** Makes a call that may be sent again. Rejects as the call does; with a 429 after the last time, or where it asks for too long a wait. */
export async function unlessThrottled<T>(call: () => Promise<T>): Promise<T> {
  for (let sends = 1; ; sends += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isSingleCase(error) || error.status !== 429 || sends >= sendsMax) throw error;
    }
  }
}

/** Notes one more answer of the service that nothing is left. */
export function confirm(context: UpstreamContext, subject: RequestRef, target: ErasureTarget): void {
  note(context, subject, target.target, {
    status: 'waiting',
    reason: null,
    confirmations: target.confirmations + 1,
    confirmedAt: isoTime(context.clock.now()),
    ...confirmPause(context),
  });
}

/** Calls for attention to a target that is open, once for each reason. */
export function raise(
  context: UpstreamContext,
  subject: RequestRef,
  name: UpstreamTarget,
  reason: AttentionReason,
): void {
  const target = openTarget(context, subject, name);
  if (target) callAttentionOnce(context, subject, target, reason);
}

const refusedAgainAfterMs = 86_400_000;

/** Calls for attention to a request that the service refuses for good; it is made again a day later. */
export function raiseRefusal(
  context: UpstreamContext,
  subject: RequestRef,
  name: UpstreamTarget,
  reason: AttentionReason = 'upstream_refuses',
): void {
  raise(context, subject, name, reason);
  note(context, subject, name, waitOf(context, { lastsMs: refusedAgainAfterMs }));
}

/**
 * Takes a step for each subject, as many at once as the budget allows, and returns what they returned. A step at whose
 * request the service fails is put down, and the others go on; a refused key, a service that cannot be reached, or too
 * many of the former (but for those that the key is refused alone) end it with that error, once all that have begun have ended.
 */
export async function eachSubject<S extends Pick<RequestRef, 'id'>, T>(
  context: UpstreamContext,
  subjects: readonly S[],
  step: (subject: S) => Promise<T>,
): Promise<T[]> {
  const attempt = async (subject: S): Promise<T[]> => {
    try {
      return [await step(subject)];
    } catch (error) {
      if (!isSingleCase(error)) throw error;
      context.failed.push({ requestId: subject.id, error });
      // A request at which several steps fail is one case.
      const failed = context.failed.flatMap((each) => (isOfOneRow(each.error) ? [] : each.requestId));
      if (new Set(failed).size >= singleCasesMax && !isOfOneRow(error)) throw error;
      return [];
    }
  };
  return (await inBatches(context, subjects, attempt)).flat();
}

/** How many subjects' answers are kept at once before they are recorded. */
const recordedAtOnce = 100;

/** What is to be recorded of a subject, once the service has answered. */
export type Outcome = (context: UpstreamContext) => void;

/** As `eachSubject`; what the steps return is recorded for many subjects together, also where other steps fail. */
export async function eachSubjectTogether<S extends RequestRef>(
  context: UpstreamContext,
  subjects: readonly S[],
  step: (subject: S) => Promise<Outcome | undefined>,
): Promise<void> {
  for (let first = 0; first < subjects.length; first += recordedAtOnce) {
    context.part.signal.throwIfAborted();
    const outcomes: Outcome[] = [];
    try {
      await eachSubject(context, subjects.slice(first, first + recordedAtOnce), async (subject) => {
        const outcome = await step(subject);
        if (outcome) outcomes.push(outcome);
      });
    } finally {
      together(context, (own) => outcomes.forEach((record) => record(own)));
    }
    if (outcomes.length > 0) context.part.onStep();
  }
}

/** Does something with each item, as many at once as the budget allows. Throws once all that have begun have ended. */
export async function inBatches<T, R>(
  { settings, signal }: Pick<UpstreamContext, 'settings' | 'signal'>,
  items: readonly T[],
  act: (item: T) => Promise<R>,
): Promise<R[]> {
  return await inBatchesOf(items, { atOnce: settings.budget.concurrency, signal }, act);
}
