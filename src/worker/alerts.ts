import { alertKinds, alertTable, configuredKey, type AlertKind } from '../config/alert-kinds.ts';
import type { ScheduledJob } from '../config/settings.ts';
import { stateDiffers } from '../erasure/bound/compare.ts';
import { isOutdated } from '../core/clock.ts';
import { bytesText, codeText, countedText, minuteText } from '../core/words.ts';
import { causeOf, serviceCauses } from '../job/service-cause.ts';
import type { ProjectState } from '../job/worker-state.ts';
import { keptLogText } from '../mirror/log-size.ts';
import type { Alert } from '../mirror/open-alerts.ts';

/** A job is failing after so many failures in a row. A single failure only makes the job pause. */
const failuresMin = 2;

/** So many periods may pass without a success, and at least two hours: a frequent job sometimes waits for a long one. */
const freshPeriods = 2;
const freshMsMin = 2 * 3_600_000;

/** The reason of a run that found published files which differ from their manifests. */
export const filesDamaged = 'files_damaged';

/** The reasons of a run in which a witness had seen another ledger, and of one that found an entry without an anchor for long. */
export const anchorRefused = 'anchor_refused';
export const anchorMissing = 'anchor_missing';

/** The reason of a run that found consumers which have not acknowledged an erasure for long; it is done all the same. */
export const consumersSilent = 'consumers_silent';

/** What a run can find, by its reason, and the alert for it. A run that differences ended has found them too. */
const findings: readonly { reason: string; kind: AlertKind; what: string }[] = [
  { reason: stateDiffers, kind: 'state_differs', what: 'keys, files or tables that are not as the ledger says' },
  { reason: anchorRefused, kind: 'anchor_refused', what: 'a witness that has seen another ledger' },
  { reason: anchorMissing, kind: 'anchor_missing', what: 'entries that have waited two days for an anchor' },
  { reason: consumersSilent, kind: 'unacknowledged', what: 'erasures that a consumer has not acknowledged in time' },
  { reason: filesDamaged, kind: 'damaged', what: 'published files that differ from their manifests' },
];

/** What alerts are judged by, besides the project. `detail` is the message and the hint of the project's problem. */
export type AlertFacts = {
  nowMs: number;
  startedAtMs: number;
  detail: { message: string; hint: string | null } | null;
  /** The alerts that were open at the last look, also at the last look of an earlier worker. */
  standing: readonly Alert[];
};

/** The open alerts of a project at a time (milliseconds since 1970), the most pressing first. */
export function alertsOf(
  { jobs, problem, condition, service }: Pick<ProjectState, 'jobs' | 'problem' | 'condition' | 'service'>,
  { nowMs, startedAtMs, detail, standing }: AlertFacts,
): Alert[] {
  const alerts = [
    ...(problem === null
      ? []
      : [
          {
            ...alertOf('unopened', `the data folder cannot be used: ${detail?.message ?? problem}`),
            todo: detail?.hint ?? alertTable.unopened.todo,
          },
        ]),
    ...(condition === null ? [] : conditionAlerts(condition)),
    ...serviceCauses(jobs).map(({ kind, message, since, jobs: caused }) => ({
      kind,
      job: null,
      message: `${message} since ${minuteText(since)}: ${caused.join(', ')}`,
      todo: alertTable[kind].todo.replace(configuredKey, service.keyFrom),
    })),
    ...jobs.flatMap(({ job, periodMs, lastSuccessAt, consecutiveFailures, failing }): Alert[] => [
      // A job that has never succeeded has as much time from the worker's start, unless it was stale before that start.
      ...(isOutdated(lastSuccessAt === null ? startedAtMs : Date.parse(lastSuccessAt), {
        nowMs,
        limitMs: Math.max(freshPeriods * periodMs, freshMsMin),
      }) ||
      (lastSuccessAt === null && standing.some((alert) => alert.kind === 'stale' && alert.job === job))
        ? [alertOf('stale', `${job} shows no success of its last two periods`, job)]
        : []),
      ...(consecutiveFailures >= failuresMin && !causeOf(failing?.reason ?? '', job)
        ? [
            alertOf(
              'failing',
              `${job} has failed ${consecutiveFailures} times in a row (${codeText(failing?.reason ?? 'died')})`,
              job,
            ),
          ]
        : []),
    ]),
    ...findings.flatMap(({ reason, kind, what }) =>
      jobs
        .filter(
          ({ lastFound, lastReason }) => lastFound === reason || (kind === 'state_differs' && lastReason === reason),
        )
        .map(({ job }) => alertOf(kind, `${job} found ${what}`, job)),
    ),
  ];
  return alerts.toSorted((a, b) => alertKinds.indexOf(a.kind) - alertKinds.indexOf(b.kind));
}

/** An alert of a kind, with the message and what to do. */
export function alertOf(kind: AlertKind, message: string, job: ScheduledJob | null = null): Alert {
  return { kind, job, message, todo: alertTable[kind].todo };
}

function conditionAlerts(condition: NonNullable<ProjectState['condition']>): Alert[] {
  const { heldPlans, heldRequests, attentionRequests, overdueRequests, givenUpRequests, overdueAccess } = condition;
  const {
    uncalledSenders,
    bucketsBehind,
    newProperties,
    isLedgerWritable,
    diskFreeBytes,
    diskFreeBytesMin,
    logBytes,
    clock,
  } = condition;
  const found = (kind: AlertKind, message: string | null): Alert[] =>
    message === null ? [] : [alertOf(kind, message)];
  const only = (isSo: boolean, kind: AlertKind, message: string): Alert[] => found(kind, isSo ? message : null);
  return [
    ...only(!isLedgerWritable, 'ledger_unwritable', 'the ledger cannot be written'),
    ...only(
      // With a limit of 0, a disk that is full.
      diskFreeBytes <= diskFreeBytesMin,
      'disk_low',
      `the disk of the data folder has ${bytesText(diskFreeBytes)} left`,
    ),
    ...found('clock_differs', clock.problem),
    ...found('log_held', keptLogText(logBytes)),
    ...only(
      overdueRequests > 0,
      'overdue',
      countedText(overdueRequests, 'erasure request is overdue', 'erasure requests are overdue'),
    ),
    ...only(
      givenUpRequests > 0,
      'given_up',
      `${countedText(givenUpRequests, 'erasure request has', 'erasure requests have')} ended by age, or since mirror.db had lost whom they mean, and not all was reached`,
    ),
    ...only(
      overdueAccess > 0,
      'access_overdue',
      countedText(overdueAccess, 'request for access is overdue', 'requests for access are overdue'),
    ),
    ...only(
      attentionRequests > 0,
      'attention',
      countedText(attentionRequests, 'erasure request needs you', 'erasure requests need you'),
    ),
    ...only(
      heldPlans + heldRequests > 0,
      'held',
      `held for approval: ${[
        ...(heldRequests > 0 ? [countedText(heldRequests, 'erasure request')] : []),
        ...(heldPlans > 0 ? [countedText(heldPlans, 'plan of deletions', 'plans of deletions')] : []),
      ].join(', ')}`,
    ),
    ...only(
      uncalledSenders > 0,
      'uncalled',
      `${countedText(uncalledSenders, 'sender of requests is', 'senders of requests are')} not called back`,
    ),
    ...only(
      bucketsBehind > 0,
      'bucket_behind',
      countedText(bucketsBehind, 'bucket is behind the folder', 'buckets are behind the folder'),
    ),
    ...only(
      newProperties > 0,
      'new_property',
      `${countedText(newProperties, 'property has appeared and is', 'properties have appeared and are')} not published`,
    ),
  ];
}

/** An alert that begins or ends. `at` is ISO 8601 UTC. */
export type AlertChange = { event: 'began' | 'ended'; project: string; alert: Alert; at: string };

/** The alerts that began and that ended between two looks at the projects. */
export function alertChanges(
  before: readonly Pick<ProjectState, 'name' | 'alerts'>[],
  after: readonly Pick<ProjectState, 'name' | 'alerts'>[],
  at: string,
): AlertChange[] {
  const listed = (projects: typeof before): Map<string, Omit<AlertChange, 'event' | 'at'>> =>
    new Map(
      projects.flatMap(({ name, alerts }) =>
        alerts.map((alert) => [`${name} ${alert.kind} ${alert.job}`, { project: name, alert }]),
      ),
    );
  const was = listed(before);
  const is = listed(after);
  const only = (event: AlertChange['event'], here: typeof was, there: typeof was): AlertChange[] =>
    [...here].flatMap(([key, { project, alert }]) => (there.has(key) ? [] : [{ event, project, alert, at }]));
  return [...only('ended', was, is), ...only('began', is, was)];
}
