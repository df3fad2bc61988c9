import { alertKinds } from '../config/settings.ts';
import type { ProjectContent, ProjectOverview } from './overview.ts';
import { openCount } from './page-freshness.ts';

/** One value of a metric. Labels hold names of ours and of the configuration, never personal data. */
type Sample = { labels: Readonly<Record<string, string>>; value: number };

/** A metric: its name is a public promise. Every sample has the label `project` besides those listed. */
export type Metric = {
  name: string;
  type: 'gauge' | 'counter';
  help: string;
  labels: readonly string[];
  read: (project: ProjectOverview) => Sample[];
};

/** Every metric of the worker. Times are seconds since 1970; what is not known has no sample. */
export const metricCatalogue: readonly Metric[] = [
  {
    name: 'analytics_mirror_alert',
    type: 'gauge',
    help: 'Whether something calls for somebody (1) or not (0), by kind.',
    labels: ['kind'],
    read: ({ alerts }) =>
      alertKinds.map((kind) => ({
        labels: { kind },
        value: alerts.some((alert) => alert.kind === kind) ? 1 : 0,
      })),
  },
  {
    name: 'analytics_mirror_rows',
    type: 'gauge',
    help: 'Rows of each table of the mirror.',
    labels: ['table'],
    read: ofContent(({ rows }) =>
      Object.entries(rows).map(([name, value]) => ({ labels: { table: name }, value })),
    ),
  },
  {
    name: 'analytics_mirror_complete_as_of_timestamp_seconds',
    type: 'gauge',
    help: 'When the last pass began that is proved to have seen the whole list.',
    labels: ['dataset'],
    read: ofContent(({ lists }) =>
      lists.flatMap(({ dataset, completeAsOf }) => timeSample({ dataset }, completeAsOf)),
    ),
  },
  {
    name: 'analytics_mirror_freshness_limit_seconds',
    type: 'gauge',
    help: 'Older than this is stale.',
    labels: ['dataset'],
    read: ofContent(({ lists }) =>
      lists.flatMap(({ dataset, limitMs }) =>
        limitMs === null ? [] : [{ labels: { dataset }, value: limitMs / 1000 }],
      ),
    ),
  },
  {
    name: 'analytics_mirror_fresh',
    type: 'gauge',
    help: 'Whether the list is fresh (1), or stale or never seen as a whole (0).',
    labels: ['dataset'],
    read: ofContent(({ lists }) =>
      lists.map(({ dataset, state }) => ({ labels: { dataset }, value: state === 'fresh' ? 1 : 0 })),
    ),
  },
  {
    name: 'analytics_mirror_pass_complete',
    type: 'gauge',
    help: 'Whether the newest ended pass of a list and mode proved itself complete.',
    labels: ['dataset', 'mode'],
    read: ofContent(({ passes }) =>
      passes
        .filter(({ verdict }) => verdict !== 'running')
        .map(({ dataset, mode, verdict }) => ({
          labels: { dataset, mode },
          value: verdict === 'complete' ? 1 : 0,
        })),
    ),
  },
  {
    name: 'analytics_mirror_pass_step_backs',
    type: 'gauge',
    help: 'How often the newest pass of a list and mode had to step back, because the list moved.',
    labels: ['dataset', 'mode'],
    read: ofContent(({ passes }) =>
      passes.map(({ dataset, mode, stepBacks }) => ({ labels: { dataset, mode }, value: stepBacks })),
    ),
  },
  {
    name: 'analytics_mirror_runs_total',
    type: 'counter',
    help: 'Runs that ended, by job and outcome.',
    labels: ['job', 'outcome'],
    read: ofContent(({ histories }) =>
      histories.flatMap(({ job, outcomes }) =>
        (['done', 'incomplete', 'failed', 'interrupted', 'held'] as const).map((outcome) => ({
          labels: { job, outcome },
          value: outcomes[outcome] ?? 0,
        })),
      ),
    ),
  },
  {
    name: 'analytics_mirror_run_requests_total',
    type: 'counter',
    help: 'Requests that runs made of the service, by job.',
    labels: ['job'],
    read: ofContent(({ histories }) =>
      histories.map(({ job, requests }) => ({ labels: { job }, value: requests })),
    ),
  },
  {
    name: 'analytics_mirror_run_last_end_timestamp_seconds',
    type: 'gauge',
    help: 'When the last run of a job ended, however it did.',
    labels: ['job'],
    read: ofContent(({ histories }) =>
      histories.flatMap(({ job, lastEndAt }) => timeSample({ job }, lastEndAt)),
    ),
  },
  {
    name: 'analytics_mirror_run_last_done_timestamp_seconds',
    type: 'gauge',
    help: 'When a run of a job last ended as done.',
    labels: ['job'],
    read: ofContent(({ histories }) =>
      histories.flatMap(({ job, lastDoneAt }) => timeSample({ job }, lastDoneAt)),
    ),
  },
  {
    name: 'analytics_mirror_job_next_timestamp_seconds',
    type: 'gauge',
    help: 'When a scheduled job starts next.',
    labels: ['job'],
    read: ({ jobs }) => jobs.flatMap(({ job, nextAt }) => timeSample({ job }, nextAt)),
  },
  {
    name: 'analytics_mirror_job_running',
    type: 'gauge',
    help: 'Whether a scheduled job runs now.',
    labels: ['job'],
    read: ({ jobs }) =>
      jobs.map(({ job, runningSince }) => ({ labels: { job }, value: runningSince === null ? 0 : 1 })),
  },
  {
    name: 'analytics_mirror_job_consecutive_failures',
    type: 'gauge',
    help: 'Runs of a scheduled job in a row that failed or died.',
    labels: ['job'],
    read: ({ jobs }) =>
      jobs.map(({ job, consecutiveFailures }) => ({ labels: { job }, value: consecutiveFailures })),
  },
  {
    name: 'analytics_mirror_job_busy_total',
    type: 'counter',
    help: 'How often a command held the data folder when a scheduled job was to start.',
    labels: ['job'],
    read: ({ jobs }) => jobs.map(({ job, timesBusy }) => ({ labels: { job }, value: timesBusy })),
  },
  {
    name: 'analytics_mirror_budget_limit_requests',
    type: 'gauge',
    help: 'At most so many requests of a lane in any span of window_seconds.',
    labels: ['lane', 'window_seconds'],
    read: ofContent(({ windows }) =>
      windows.map(({ lane, perSeconds, requests }) => ({
        labels: windowLabels(lane, perSeconds),
        value: requests,
      })),
    ),
  },
  {
    name: 'analytics_mirror_budget_used_requests',
    type: 'gauge',
    help: 'Requests of a lane in the last window_seconds.',
    labels: ['lane', 'window_seconds'],
    read: ofContent(({ windows }) =>
      windows.map(({ lane, perSeconds, used }) => ({ labels: windowLabels(lane, perSeconds), value: used })),
    ),
  },
  {
    name: 'analytics_mirror_held_plans',
    type: 'gauge',
    help: 'Plans of deletions that wait for approval.',
    labels: [],
    read: ofContent(({ heldPlans }) => [{ labels: {}, value: heldPlans.length }]),
  },
  {
    name: 'analytics_mirror_quarantined_rows',
    type: 'gauge',
    help: 'Rows that could not be read and were put aside.',
    labels: [],
    read: ofContent(({ quarantined }) => [{ labels: {}, value: quarantined }]),
  },
  {
    name: 'analytics_mirror_erasure_requests',
    type: 'gauge',
    help: 'Requests to erase somebody, by state.',
    labels: ['state'],
    read: ofContent(({ erasure }) =>
      Object.entries(erasure.states).map(([state, value]) => ({ labels: { state }, value })),
    ),
  },
  {
    name: 'analytics_mirror_erasure_requests_open',
    type: 'gauge',
    help: 'Requests to erase somebody that are not complete.',
    labels: [],
    read: ofContent((content) => [{ labels: {}, value: openCount(content) }]),
  },
  {
    name: 'analytics_mirror_erasure_requests_overdue',
    type: 'gauge',
    help: 'Open requests past their due date.',
    labels: [],
    read: ofContent(({ erasure }) => [{ labels: {}, value: erasure.overdue }]),
  },
  {
    name: 'analytics_mirror_erasure_next_due_timestamp_seconds',
    type: 'gauge',
    help: 'The first due date of an open request.',
    labels: [],
    read: ofContent(({ erasure }) => timeSample({}, erasure.nextDueAt)),
  },
  {
    name: 'analytics_mirror_fence_hits_total',
    type: 'counter',
    help: 'Rows that the fence kept out.',
    labels: [],
    read: ofContent(({ erasure }) => [{ labels: {}, value: erasure.fence.hits }]),
  },
  {
    name: 'analytics_mirror_snapshot_created_timestamp_seconds',
    type: 'gauge',
    help: 'When the newest snapshot of a dataset was published, full or delta.',
    labels: ['dataset'],
    read: ofContent(({ snapshots }) =>
      (snapshots ?? []).flatMap(({ dataset, updatedAt }) => timeSample({ dataset }, updatedAt)),
    ),
  },
  {
    name: 'analytics_mirror_snapshot_rows',
    type: 'gauge',
    help: 'Rows of the current snapshot of a dataset.',
    labels: ['dataset'],
    read: ofContent(({ snapshots }) =>
      (snapshots ?? []).map(({ dataset, rows }) => ({ labels: { dataset }, value: rows })),
    ),
  },
  {
    name: 'analytics_mirror_snapshot_bytes',
    type: 'gauge',
    help: 'Bytes of the current snapshot of a dataset.',
    labels: ['dataset'],
    read: ofContent(({ snapshots }) =>
      (snapshots ?? []).map(({ dataset, bytes }) => ({ labels: { dataset }, value: bytes })),
    ),
  },
  {
    name: 'analytics_mirror_snapshots_checked_timestamp_seconds',
    type: 'gauge',
    help: 'When the checkpoint job last read all published files back and found each as its manifest says.',
    labels: [],
    read: ofContent(({ snapshotsCheckedAt }) => timeSample({}, snapshotsCheckedAt)),
  },
  {
    name: 'analytics_mirror_ledger_entries',
    type: 'gauge',
    help: 'Entries of the ledger.',
    labels: [],
    read: ofContent(({ ledger }) =>
      ledger === null || ledger === 'unreadable' || ledger.entries === null
        ? []
        : [{ labels: {}, value: ledger.entries }],
    ),
  },
  {
    name: 'analytics_mirror_ledger_unsigned_entries',
    type: 'gauge',
    help: 'Entries of the ledger that no checkpoint covers yet.',
    labels: [],
    read: ofContent(({ ledger }) =>
      ledger === null || ledger === 'unreadable' || ledger.entries === null
        ? []
        : [{ labels: {}, value: ledger.entries - (ledger.checkpoint?.size ?? 0) }],
    ),
  },
  {
    name: 'analytics_mirror_ledger_checkpoint_timestamp_seconds',
    type: 'gauge',
    help: 'When the newest checkpoint of the ledger was signed.',
    labels: [],
    read: ofContent(({ ledger }) =>
      ledger === null || ledger === 'unreadable' ? [] : timeSample({}, ledger.checkpoint?.at ?? null),
    ),
  },
  {
    name: 'analytics_mirror_ledger_writable',
    type: 'gauge',
    help: 'Whether the ledger can be written: where it cannot, nobody is erased.',
    labels: [],
    read: ({ condition }) =>
      condition === null ? [] : [{ labels: {}, value: condition.isLedgerWritable ? 1 : 0 }],
  },
  {
    name: 'analytics_mirror_disk_free_bytes',
    type: 'gauge',
    help: 'Free bytes on the disk of the data folder.',
    labels: [],
    read: ({ condition }) => (condition === null ? [] : [{ labels: {}, value: condition.diskFreeBytes }]),
  },
];

function ofContent(read: (content: ProjectContent) => Sample[]): Metric['read'] {
  return ({ content }) => (content === null ? [] : read(content));
}

function timeSample(labels: Sample['labels'], iso: string | null): Sample[] {
  return iso === null ? [] : [{ labels, value: Date.parse(iso) / 1000 }];
}

function windowLabels(lane: string, perSeconds: number): Sample['labels'] {
  return { lane: lane.replaceAll(' ', '_'), window_seconds: String(perSeconds) };
}
