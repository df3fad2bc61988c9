import { alertKinds } from '../config/alert-kinds.ts';
import type { LedgerHead } from '../ledger/ledger-head.ts';
import type { ProjectContent, ProjectOverview } from './overview.ts';

/** One value of a metric. Labels hold names of this program and of the configuration, never personal data. */
type Sample = { labels: Readonly<Record<string, string>>; value: number };

/** A metric: its name is a public promise. Every sample has the label `project` besides those listed. */
export type Metric = {
  name: string;
  help: string;
  labels: readonly string[];
  read: (project: ProjectOverview) => Sample[];
};

/** A value that is null is not known and gives no sample; `true` is 1. */
type Value = number | boolean | null;

/** Metrics by name: the help text, and how the value is read from the thing that is measured. */
type MetricTable<T> = Readonly<Record<string, readonly [help: string, valueOf: (thing: T) => Value]>>;

/** The metrics of each thing of a kind that a project has; the labels tell the things apart. */
function metricsOf<T>(
  thingsOf: (project: ProjectOverview) => readonly T[],
  labels: Readonly<Record<string, (thing: T) => string>>,
  table: MetricTable<T>,
): Metric[] {
  return Object.entries(table).map(([name, [help, valueOf]]) => ({
    name,
    help,
    labels: Object.keys(labels),
    read: (project) =>
      thingsOf(project).flatMap((thing) => {
        const value = valueOf(thing);
        const own = Object.entries(labels).map(([label, textOf]) => [label, textOf(thing)]);
        return value === null ? [] : [{ labels: Object.fromEntries(own) as Sample['labels'], value: Number(value) }];
      }),
  }));
}

/** Every metric of the worker. Times are seconds since 1970. */
export const metricCatalogue: readonly Metric[] = [
  ...metricsOf(
    ({ alerts }) => alertKinds.map((kind) => ({ kind, isOpen: alerts.some((alert) => alert.kind === kind) })),
    { kind: ({ kind }) => kind },
    { analytics_mirror_alert: ['Whether an alert of this kind is open (1) or not (0).', ({ isOpen }) => isOpen] },
  ),
  ...metricsOf(
    ({ cluster }) => (cluster ? [cluster] : []),
    {},
    {
      analytics_mirror_project_here: [
        'Of a cluster: whether this machine holds the project (1), or another one or none does (0).',
        ({ isHere }) => isHere,
      ],
    },
  ),
  ...metricsOf(
    ofContent(({ rows }) => Object.entries(rows)),
    { table: ([table]) => table },
    { analytics_mirror_rows: ['Rows of each table of the mirror.', ([, rows]) => rows] },
  ),
  ...metricsOf(
    ofContent(({ lists }) => lists),
    { dataset: ({ dataset }) => dataset },
    {
      analytics_mirror_complete_as_of_timestamp_seconds: [
        'When the last pass began that proved that it saw the whole list.',
        ({ completeAsOf }) => secondsOf(completeAsOf),
      ],
      analytics_mirror_freshness_limit_seconds: [
        'The age at which the list becomes stale.',
        ({ limitMs }) => limitMs && limitMs / 1000,
      ],
      analytics_mirror_fresh: [
        'Whether the list is fresh (1), or stale or never seen as a whole (0).',
        ({ state }) => state === 'fresh',
      ],
    },
  ),
  ...metricsOf(
    ofContent(({ passes }) => passes),
    { dataset: ({ dataset }) => dataset, mode: ({ mode }) => mode },
    {
      analytics_mirror_pass_complete: [
        'Whether the newest pass of a list and mode proved that it was complete; not before it has ended.',
        ({ verdict, finishedAt }) => (finishedAt === null ? null : verdict === 'complete'),
      ],
      analytics_mirror_pass_step_backs: [
        'How often the newest pass of a list and mode stepped back because the list had moved.',
        ({ stepBacks }) => stepBacks,
      ],
    },
  ),
  ...metricsOf(
    ofContent(({ histories }) =>
      histories.flatMap(({ job, outcomes }) =>
        (['done', 'incomplete', 'failed', 'interrupted', 'held'] as const).map((outcome) => ({
          job,
          outcome,
          runs: outcomes[outcome] ?? 0,
        })),
      ),
    ),
    { job: ({ job }) => job, outcome: ({ outcome }) => outcome },
    { analytics_mirror_runs_total: ['Ended runs by job and outcome.', ({ runs }) => runs] },
  ),
  ...metricsOf(
    ofContent(({ histories }) => histories),
    { job: ({ job }) => job },
    {
      analytics_mirror_run_requests_total: [
        'Requests that the runs of a job made to the service.',
        ({ requests }) => requests,
      ],
      analytics_mirror_run_last_end_timestamp_seconds: [
        'When the last run of a job ended, with any outcome.',
        ({ lastEndAt }) => secondsOf(lastEndAt),
      ],
      analytics_mirror_run_last_done_timestamp_seconds: [
        'When a run of a job last ended with the outcome done.',
        ({ lastDoneAt }) => secondsOf(lastDoneAt),
      ],
    },
  ),
  ...metricsOf(
    ({ jobs }) => jobs,
    { job: ({ job }) => job },
    {
      analytics_mirror_job_next_timestamp_seconds: [
        'When a scheduled job starts next.',
        ({ nextAt }) => secondsOf(nextAt),
      ],
      analytics_mirror_job_running: ['Whether a scheduled job runs now.', ({ runningSince }) => runningSince !== null],
      analytics_mirror_job_consecutive_failures: [
        'Runs of a scheduled job in a row that failed or died.',
        ({ consecutiveFailures }) => consecutiveFailures,
      ],
      analytics_mirror_job_busy_total: [
        'How often a command held the data folder when a scheduled job was to start.',
        ({ timesBusy }) => timesBusy,
      ],
    },
  ),
  ...metricsOf(
    ofContent(({ windows }) => windows),
    { lane: ({ lane }) => lane.replaceAll(' ', '_'), window_seconds: ({ perSeconds }) => String(perSeconds) },
    {
      analytics_mirror_budget_limit_requests: [
        'The most requests that a lane may make in window_seconds.',
        ({ requests }) => requests,
      ],
      analytics_mirror_budget_used_requests: [
        'Requests that a lane made in the last window_seconds.',
        ({ used }) => used,
      ],
    },
  ),
  ...metricsOf(
    ofContent(({ erasure }) => Object.entries(erasure.states)),
    { state: ([state]) => state },
    { analytics_mirror_erasure_requests: ['Erasure requests by state.', ([, count]) => count] },
  ),
  ...metricsOf(
    ofContent(({ snapshots }) => snapshots ?? []),
    { dataset: ({ dataset }) => dataset },
    {
      analytics_mirror_snapshot_created_timestamp_seconds: [
        'When the newest snapshot of a dataset, full or delta, was published.',
        ({ updatedAt }) => secondsOf(updatedAt),
      ],
      analytics_mirror_snapshot_current_timestamp_seconds: [
        'When the newest snapshot of a dataset was published, or last found to be what a new one would be.',
        ({ updatedAt, unchangedAt }) => secondsOf(unchangedAt ?? updatedAt),
      ],
      analytics_mirror_snapshot_rows: ['Rows of the current snapshot of a dataset.', ({ rows }) => rows],
      analytics_mirror_snapshot_bytes: ['Bytes of the current snapshot of a dataset.', ({ bytes }) => bytes],
    },
  ),
  ...metricsOf(
    ofContent(({ buckets }) => (buckets.length === 0 ? [] : [buckets])),
    {},
    {
      analytics_mirror_bucket_follows: [
        'Whether each bucket was last seen equal to the published files (1), or one may be behind (0).',
        (buckets) => buckets.every(({ behindSince }) => behindSince === null),
      ],
      analytics_mirror_bucket_behind_since_timestamp_seconds: [
        'Since when a bucket may be behind the published files.',
        (buckets) => secondsOf(buckets.flatMap(({ behindSince }) => behindSince ?? []).toSorted()[0] ?? null),
      ],
      analytics_mirror_bucket_equal_timestamp_seconds: [
        'When each bucket was seen equal to the published files, the oldest of these times.',
        (buckets) => secondsOf(buckets.flatMap(({ equalAt }) => equalAt ?? []).toSorted()[0] ?? null),
      ],
      analytics_mirror_bucket_objects: [
        'Objects in the buckets when they were last seen equal.',
        (buckets) => buckets.reduce((sum, { files }) => sum + (files ?? 0), 0),
      ],
    },
  ),
  ...metricsOf(
    ofContent((content) => [content]),
    {},
    {
      analytics_mirror_held_plans: ['Deletion plans that wait for approval.', ({ held }) => held.length],
      analytics_mirror_quarantined_rows: [
        'Rows that could not be read and were put aside.',
        ({ quarantine }) => Object.values(quarantine).reduce((sum, rows) => sum + rows, 0),
      ],
      analytics_mirror_erasure_requests_open: [
        'Erasure requests that are not complete.',
        ({ erasure }) => erasure.open,
      ],
      analytics_mirror_erasure_requests_overdue: [
        'Open erasure requests that are overdue.',
        ({ erasure }) => erasure.overdue,
      ],
      analytics_mirror_erasure_next_due_timestamp_seconds: [
        'The first due date of an open erasure request.',
        ({ erasure }) => secondsOf(erasure.nextDueAt),
      ],
      analytics_mirror_fence_hits_total: ['Rows that the fence kept out.', ({ erasure }) => erasure.fence.hits],
      analytics_mirror_snapshots_checked_timestamp_seconds: [
        'When the checkpoint job last read all published files and found each as its manifest says.',
        ({ snapshotsCheckedAt }) => secondsOf(snapshotsCheckedAt),
      ],
    },
  ),
  ...metricsOf(
    ofContent(({ ledger }): LedgerHead[] => (ledger === null || ledger === 'unreadable' ? [] : [ledger])),
    {},
    {
      analytics_mirror_ledger_entries: ['Entries of the ledger.', ({ entries }) => entries],
      analytics_mirror_ledger_unsigned_entries: [
        'Entries of the ledger that no checkpoint covers yet.',
        ({ entries, checkpoint }) => entries && entries - (checkpoint?.size ?? 0),
      ],
      analytics_mirror_ledger_checkpoint_timestamp_seconds: [
        'When the newest checkpoint of the ledger was signed.',
        ({ checkpoint }) => secondsOf(checkpoint?.at ?? null),
      ],
    },
  ),
  ...metricsOf(
    ({ condition }) => (condition === null ? [] : [condition]),
    {},
    {
      analytics_mirror_ledger_writable: [
        'Whether the ledger can be written. While it cannot, no person is erased.',
        ({ isLedgerWritable }) => isLedgerWritable,
      ],
      analytics_mirror_clock_ahead_seconds: [
        "How far this machine's clock was ahead of the service's when it was last seen; below 0: behind.",
        ({ clock }) => clock.aheadMs && clock.aheadMs / 1000,
      ],
      analytics_mirror_disk_free_bytes: [
        'Free bytes on the disk of the data folder.',
        ({ diskFreeBytes }) => diskFreeBytes,
      ],
      analytics_mirror_log_bytes: [
        "Bytes of the mirror's write-ahead log; a reader that stays makes it grow.",
        ({ logBytes }) => logBytes,
      ],
    },
  ),
];

function ofContent<T>(read: (content: ProjectContent) => T[]): (project: ProjectOverview) => T[] {
  return ({ content }) => (content === null ? [] : read(content));
}

function secondsOf(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso) / 1000;
}
