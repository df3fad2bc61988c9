import type { AlertKind } from '../config/alert-kinds.ts';
import type { ScheduledJob } from '../config/settings.ts';
import { datasets, mirroredDatasets } from '../contract/datasets.ts';
import { newestTime } from '../core/clock.ts';
import type { JobState } from './worker-state.ts';

/** A fault of the service or of its key, which makes several jobs fail. It is reported once, for all of them. */
export type ServiceCause = {
  kind: Extract<AlertKind, 'refused' | 'unreachable' | 'quota'>;
  /** What is wrong, as the beginning of a sentence. */
  message: string;
  /** When the first of the failed runs began, in ISO 8601 UTC. */
  since: string;
  jobs: ScheduledJob[];
};

/** The cause that each reason of a failed run shows. */
const causes: Readonly<Record<string, Pick<ServiceCause, 'kind' | 'message'>>> = {
  key_refused: { kind: 'refused', message: 'the service refuses the key' },
  scope_missing: { kind: 'refused', message: 'the service does not let the key do what a job needs' },
  project_unknown: { kind: 'refused', message: 'the service does not know the project' },
  refused: { kind: 'refused', message: 'the service refuses the key or the project' },
  unreachable: { kind: 'unreachable', message: 'the service does not answer' },
  service: { kind: 'unreachable', message: 'the service answers with errors' },
  quota: { kind: 'quota', message: 'the quota of the account at the service is used up' },
};

/** The jobs that read a list of the service in every run. */
export const listJobs: readonly ScheduledJob[] = [
  'head',
  ...mirroredDatasets.map((dataset) => datasets[dataset].fullJob),
];

/** The jobs that ask the service. Others can fail alike at a bucket, a warehouse or a witness. */
const askingJobs: readonly ScheduledJob[] = ['reconcile', ...listJobs];

/** The fault of the service or of its key that a reason of a failed run shows; undefined where it shows none, or the job asks no service. */
export function causeOf(
  reason: string,
  job: ScheduledJob | 'sync',
): Pick<ServiceCause, 'kind' | 'message'> | undefined {
  const asks = job === 'sync' || askingJobs.includes(job);
  return asks && Object.hasOwn(causes, reason) ? causes[reason] : undefined;
}

/**
 * The faults of the service that make jobs of a project fail now, each kind once: as the first of its failures shows it. A
 * service that has answered another job since is not unreachable.
 */
export function serviceCauses(
  jobs: readonly Pick<JobState, 'job' | 'failing' | 'lastSuccessAt' | 'lastAt'>[],
): ServiceCause[] {
  const answers = jobs.filter(({ job }) => listJobs.includes(job));
  const answeredAt = newestTime(answers.map(({ lastSuccessAt }) => lastSuccessAt)) ?? '';
  const found = jobs.flatMap(({ job, failing, lastAt }) => {
    const cause = failing === null ? undefined : causeOf(failing.reason, job);
    if (!failing || !cause) return [];
    if (cause.kind === 'unreachable' && answeredAt > (lastAt ?? '')) return [];
    return [{ ...cause, since: failing.since, job }];
  });
  const kinds = Map.groupBy(
    found.toSorted((a, b) => (a.since < b.since ? -1 : 1)),
    ({ kind }) => kind,
  );
  return [...kinds.values()].flatMap((same): ServiceCause[] => {
    const [first] = same;
    if (!first) return [];
    const { kind, message, since } = first;
    return [{ kind, message, since, jobs: same.map(({ job }) => job) }];
  });
}
