import { alertKinds, type Alert, type AlertKind, type ProjectState } from './worker-state.ts';

/** A job is failing from so many failures in a row on: a single one is what pauses are for. */
const failuresMin = 2;

/** How many periods may pass without a success; jobs that tick often wait for long ones now and then. */
const freshPeriods = 2;
const freshMsMin = 2 * 3_600_000;

/** What calls for somebody in a project at a time (milliseconds since 1970), the most pressing first. */
export function alertsOf(
  { jobs, problem, condition }: Omit<ProjectState, 'alerts'>,
  { nowMs, startedAtMs }: { nowMs: number; startedAtMs: number },
): Alert[] {
  const alert = (kind: AlertKind, isSo: boolean, message: string): Alert[] =>
    isSo ? [{ kind, job: null, message }] : [];
  const alerts = [
    ...alert('unopened', problem !== null, `the data folder cannot be used (${problem}): run doctor`),
    ...(condition === null ? [] : conditionAlerts(condition, alert)),
    ...jobs.flatMap(({ job, periodMs, lastSuccessAt, consecutiveFailures, lastReason }): Alert[] => [
      // What has never succeeded is given as long from the worker's start.
      ...(nowMs - (lastSuccessAt === null ? startedAtMs : Date.parse(lastSuccessAt)) >
      Math.max(freshPeriods * periodMs, freshMsMin)
        ? [{ kind: 'stale' as const, job, message: `${job} has not succeeded for two of its periods` }]
        : []),
      ...(consecutiveFailures >= failuresMin
        ? [
            {
              kind: 'failing' as const,
              job,
              message: `${job} has failed ${consecutiveFailures} times in a row (${lastReason ?? 'died'}): run doctor`,
            },
          ]
        : []),
    ]),
  ];
  return alerts.toSorted((a, b) => alertKinds.indexOf(a.kind) - alertKinds.indexOf(b.kind));
}

function conditionAlerts(
  condition: NonNullable<ProjectState['condition']>,
  alert: (kind: AlertKind, isSo: boolean, message: string) => Alert[],
): Alert[] {
  const { heldPlans, heldRequests, attentionRequests, overdueRequests, isLedgerWritable } = condition;
  const freeMb = Math.floor(condition.diskFreeBytes / 1_000_000);
  return [
    ...alert('ledger_unwritable', !isLedgerWritable, 'the ledger cannot be written: nobody can be erased'),
    ...alert(
      'disk_low',
      condition.diskFreeBytes < condition.diskFreeBytesMin,
      `the disk of the data folder has ${freeMb} MB left: free some space`,
    ),
    ...alert(
      'overdue',
      overdueRequests > 0,
      `requests past their due date: ${overdueRequests}; see erase list`,
    ),
    ...alert(
      'attention',
      attentionRequests > 0,
      `requests that call for attention: ${attentionRequests}; see erase list`,
    ),
    ...alert(
      'held',
      heldPlans + heldRequests > 0,
      `waiting for approval: ${heldRequests} requests (erase list), ${heldPlans} plans of deletions (reconcile --dry-run)`,
    ),
  ];
}

/** An alert that begins or ends. `at` is ISO 8601 UTC. */
export type AlertChange = { event: 'began' | 'ended'; project: string; alert: Alert; at: string };

/** What began and what ended between two looks at the projects. */
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
