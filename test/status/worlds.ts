import type { RequestState } from '../../src/ledger/vocabulary.ts';
import type {
  ListFreshness,
  OpenRequest,
  Overview,
  ProjectContent,
  ProjectOverview,
  RunReport,
} from '../../src/status/overview.ts';
import { groupRuns } from '../../src/status/gather-overview.ts';
import type { Whereabouts, JobState, ProjectCondition } from '../../src/job/worker-state.ts';
import { calm, newJob } from '../job/worker-states.ts';
import type { Alert } from '../../src/mirror/open-alerts.ts';
import { alertOf } from '../../src/worker/alerts.ts';
import type { History } from '../../src/mirror/history.ts';
import type { PassReport } from '../../src/sync/pass-report.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A Friday, a little after noon. */
const worldNowMs = Date.UTC(2026, 10, 20, 12, 4, 31);

const before = (ms: number): string => new Date(worldNowMs - ms).toISOString();
const later = (ms: number): string => new Date(worldNowMs + ms).toISOString();

function job(name: JobState['job'], cron: string, periodMs: number, more: Partial<JobState> = {}): JobState {
  const lastAt = before(periodMs * 0.4);
  return {
    ...newJob,
    job: name,
    cron,
    periodMs,
    nextAt: later(periodMs * 0.6),
    lastAt,
    lastOutcome: 'done',
    lastSuccessAt: lastAt,
    ...more,
  };
}

const jobs: JobState[] = [
  job('head', '*/15 * * * *', 15 * minuteMs),
  job('full', '0 2 * * *', dayMs),
  job('recordings', '30 */6 * * *', 6 * hourMs),
  job('playlists', '45 3 * * *', dayMs),
  job('export', '0 5 * * *', dayMs),
  job('reconcile', '*/30 * * * *', 30 * minuteMs),
  job('checkpoint', '0 0 * * *', dayMs),
  job('drill', '0 4 * * 0', 7 * dayMs),
];

/** Ninety days of a mirror that grows; its recordings are mirrored since the tenth day. */
function ninetyDays(): History {
  const days = Array.from({ length: 90 }, (_day, index) => before((89 - index) * dayMs).slice(0, 10));
  const values = (valueOf: (index: number) => number | null): (number | null)[] =>
    days.map((_day, index) => valueOf(index));
  return {
    days,
    series: {
      persons: values((index) => 1_130_000 + index * 835 - (index > 60 ? 4200 : 0)),
      recordings: values((index) => (index < 10 ? null : 48_210 - ((89 - index) % 7) * 900)),
      playlists: values((index) => (index < 10 ? null : 6)),
      new: values((index) => 900 + ((index * 37) % 250)),
      changed: values((index) => 2400 + ((index * 91) % 1700)),
      gone: values((index) => (index === 61 ? 4210 : (index * 13) % 60)),
      received: values((index) => (index % 6 === 0 ? (index % 4) + 1 : 0)),
      complete: values((index) => (index % 7 === 5 ? (index % 3) + 2 : 0)),
    },
  };
}

/** A day of runs, newest first: `turn` may change one by its job and its number from the newest. */
function dayOfRuns(turn: (run: RunReport, index: number) => RunReport = (run) => run): RunReport[] {
  const plan: [job: string, everyMs: number, tookMs: number, requests: number][] = [
    ['head', 15 * minuteMs, 20_000, 4],
    ['recordings', 6 * hourMs, 25 * minuteMs, 180],
    ['full', dayMs, 96 * minuteMs, 1205],
    ['playlists', dayMs, 3000, 6],
    ['export', dayMs, 4 * minuteMs, 0],
    ['reconcile', 30 * minuteMs, 9000, 3],
  ];
  const runs = plan.flatMap(([name, everyMs, tookMs, requests]) =>
    Array.from({ length: Math.ceil((dayMs - everyMs * 0.4) / everyMs) }, (_run, index): RunReport => {
      const agoMs = everyMs * (0.4 + index);
      return turn(
        {
          id: 0,
          job: name,
          startedAt: before(agoMs),
          finishedAt: before(Math.max(0, agoMs - tookMs)),
          outcome: 'done',
          reason: null,
          requests,
        },
        index,
      );
    }),
  );
  return runs
    .toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
    .map((run, index, all) => Object.assign(run, { id: 4000 + all.length - index }));
}

function dayContent(runs: RunReport[]): Pick<ProjectContent, 'runs' | 'runGroups'> {
  return { runs: runs.slice(0, 12), runGroups: groupRuns(runs) };
}

function list(dataset: ListFreshness['dataset'], rows: number, ageMs: number, limitMs: number): ListFreshness {
  return {
    dataset,
    rows,
    completeAsOf: before(ageMs),
    lookedAt: before(Math.min(ageMs, 6 * minuteMs)),
    limitMs,
    state: ageMs > limitMs ? 'stale' : 'fresh',
  };
}

function pass(dataset: PassReport['dataset'], mode: PassReport['mode'], more: Partial<PassReport>): PassReport {
  return {
    id: 7,
    dataset,
    mode,
    verdict: mode === 'head' ? 'incomplete' : 'complete',
    reason: mode === 'head' ? 'head' : null,
    startedAt: before(9.6 * hourMs),
    finishedAt: before(8 * hourMs),
    windows: 1205,
    seams: 1204,
    stepBacks: 3,
    restarts: 0,
    rounds: 1,
    rowsReceived: 1_229_410,
    rowsDistinct: 1_204_331,
    rowsAdded: 5120,
    rowsChanged: 40_211,
    rowsQuarantined: 2,
    rowsFenced: 1,
    rowsCameAfter: 0,
    rowsTrimmed: 0,
    countReported: 1_204_331,
    untold: [],
    assumptions: { newestFirst: true, countReached: true, defaultWindow: false, keptMoment: null },
    ...more,
  };
}

/** The newest pass over all persons where all is well. */
export const wholePass = pass('persons', 'full', {});

const freshContent: ProjectContent = {
  budget: { pausedUntil: null, learnt: null },
  lists: [
    list('persons', 1_204_331, 9.6 * hourMs, 2 * dayMs),
    list('recordings', 48_210, 2.4 * hourMs, 12 * hourMs),
    list('playlists', 6, 9.6 * hourMs, 2 * dayMs),
  ],
  histories: jobs.map(({ job: name }) => ({
    job: name,
    outcomes: { done: 120, failed: 2 },
    requests: 4000,
    lastEndAt: before(6 * minuteMs),
    lastDoneAt: before(6 * minuteMs),
  })),
  rows: {
    persons: 1_204_331,
    person_distinct_ids: 1_911_003,
    recordings: 48_210,
    playlists: 6,
    playlist_recordings: 212,
    quarantine: 2,
  },
  quarantine: { persons: 2 },
  suspects: { persons: 0, recordings: 0 },
  lease: null,
  passes: [
    wholePass,
    pass('persons', 'head', { startedAt: before(6.3 * minuteMs), finishedAt: before(6 * minuteMs), windows: 3 }),
    pass('recordings', 'full', { startedAt: before(2.4 * hourMs), finishedAt: before(2 * hourMs), windows: 50 }),
    pass('playlists', 'full', { windows: 6, seams: 0, rowsReceived: 6 }),
  ],
  held: [],
  history: ninetyDays(),
  windows: [
    { lane: 'general', requests: 240, perSeconds: 60, used: 11 },
    { lane: 'general', requests: 1200, perSeconds: 3600, used: 204 },
    { lane: 'recordings list', requests: 60, perSeconds: 60, used: 0 },
    { lane: 'recordings list', requests: 300, perSeconds: 3600, used: 117 },
  ],
  ...dayContent(dayOfRuns()),
  erasure: {
    states: { awaiting_upstream: 3, certified: 4, sealed: 61, cancelled: 1 },
    open: 3,
    overdue: 0,
    nextDueAt: later(12 * dayMs),
    eventsExpectedBy: later(2.7 * dayMs),
    fence: { entries: 402, hits: 38, recreated: 1 },
    access: { open: 0, overdue: 0, nextDueAt: null },
    listedAgain: { letIn: 0, out: [] },
  },
  openRequests: [
    request(1, 'awaiting_upstream', 18, 12, { eventsExpectedBy: later(2.7 * dayMs) }),
    request(2, 'awaiting_upstream', 4, 26, { eventsExpectedBy: later(2.7 * dayMs) }),
    request(3, 'awaiting_upstream', 1, 29, { eventsExpectedBy: later(2.7 * dayMs) }),
  ],
  certified: [1, 2].map((number) => ({
    id: `${number}c0ffee0-52f1-4b7e-9a20-4f1de36a9b01`,
    generation: 1,
    receivedAt: before((10 + number) * dayMs),
    certifiedAt: before(number * dayMs),
  })),
  snapshots: [
    ['persons', 1_204_331, 145_220_110],
    ['recordings', 48_210, 9_120_000],
    ['distinct_ids', 1_911_003, 61_002_200],
    ['deletions', 65, 4120],
  ].map(([dataset, rows, bytes]) => ({
    dataset: String(dataset),
    snapshotId: '20261120T050000Z-1',
    createdAt: before(7 * hourMs),
    deltas: 0,
    updatedAt: before(7 * hourMs),
    unchangedAt: before(1 * hourMs),
    rows: Number(rows),
    files: 2,
    bytes: Number(bytes),
    verdict: 'complete',
  })),
  buckets: [
    {
      location: 's3://lake/an-older-place',
      equalAt: before(40 * dayMs),
      files: 12,
      behindSince: before(3 * dayMs),
      cause: 's3://lake/an-older-place still holds published files, and export.destination no longer names it',
    },
    { location: 's3://warehouse/mirror', equalAt: before(6 * minuteMs), files: 31, behindSince: null, cause: null },
  ],
  snapshotsCheckedAt: before(0.6 * dayMs),
  ledger: {
    entries: 1288,
    lastEntryAt: before(22 * hourMs),
    checkpoint: {
      size: 1288,
      root: '8d2f1c6a0b7e4f5d9c3a2b1e0f6d7c8b9a0e1f2d3c4b5a69788796a5b4c3d2e1',
      at: before(12 * hourMs),
    },
  },
};

function request(
  number: number,
  state: RequestState,
  daysOld: number,
  daysLeft: number,
  more: Partial<OpenRequest> = {},
): OpenRequest {
  return {
    id: `${(number * 2_654_435_761).toString(16).padStart(8, '0').slice(-8)}-52f1-4b7e-9a20-4f1de36a9b01`,
    state,
    persons: 1,
    waitsFor: null,
    reasons: [],
    receivedAt: before(daysOld * dayMs),
    dueAt: later(daysLeft * dayMs),
    eventsExpectedBy: null,
    ...more,
  };
}

const condition: ProjectCondition = { ...calm, diskFreeBytes: 81_000_000_000, logBytes: 9_000_000 };

/** A project whose mirror is there. */
type Mirrored = ProjectOverview & { content: ProjectContent };

const fresh: Mirrored = {
  name: 'production',
  service: { baseUrl: 'https://analytics.example.org', projectId: '4711', keyFrom: '`MIRROR_API_KEY`' },
  dataDir: '/srv/analytics-mirror/production',
  problem: null,
  jobs,
  condition,
  alerts: [],
  content: freshContent,
};

function world<Projects extends ProjectOverview[]>(...projects: Projects): Overview & { projects: Projects } {
  return { at: before(0), version: '1.4.0', startedAt: before(19.2 * dayMs), projects };
}

function changed(
  content: Partial<ProjectContent>,
  alerts: Alert[] = [],
  more: Partial<ProjectOverview> = {},
): Mirrored {
  return { ...fresh, ...more, alerts, content: { ...freshContent, ...content } };
}

const stale = changed(
  {
    lists: [
      list('persons', 1_204_331, 3.4 * dayMs, 2 * dayMs),
      list('recordings', 48_210, 2.4 * hourMs, 12 * hourMs),
      list('playlists', 6, 9.6 * hourMs, 2 * dayMs),
    ],
    ...dayContent(
      dayOfRuns((run, index) =>
        run.job === 'full' || (run.job === 'head' && index < 9)
          ? { ...run, outcome: 'failed', reason: 'oversize' }
          : run,
      ),
    ),
    passes: [
      pass('persons', 'full', { verdict: 'incomplete', reason: 'seam_not_joined' }),
      ...freshContent.passes.slice(1),
    ],
  },
  [
    alertOf('stale', 'full shows no success of its last two periods', 'full'),
    alertOf('failing', 'head has failed 9 times in a row (oversize)', 'head'),
  ],
  {
    jobs: jobs.map((one) =>
      ['full', 'head'].includes(one.job)
        ? {
            ...one,
            lastOutcome: 'failed',
            lastReason: 'oversize',
            lastSuccessAt: before(3.4 * dayMs),
            failing: { reason: 'oversize', since: before(3.3 * dayMs) },
            consecutiveFailures: 9,
          }
        : one,
    ),
  },
);

const held = changed(
  {
    held: [
      {
        plan: 'p-81c2',
        dataset: 'persons',
        rows: 90_112,
        rowsTotal: 1_204_331,
        heldAt: before(5 * hourMs),
        keys: ['0192f3a1-7c1e-7d70-9d2b-3f1b8a6f0001', '0192f3a1-7c1e-7d70-9d2b-3f1b8a6f0002'],
      },
    ],
    erasure: { ...freshContent.erasure, states: { ...freshContent.erasure.states, held: 2 }, open: 5 },
    openRequests: [
      request(4, 'held', 2, 28, { persons: 2, reasons: ['several_persons'] }),
      request(5, 'held', 2, 28, { reasons: ['too_many'] }),
      ...freshContent.openRequests,
    ],
  },
  [alertOf('held', 'held for approval: 2 erasure requests, 1 plan of deletions')],
);

const attention = changed(
  {
    erasure: { ...freshContent.erasure, states: { ...freshContent.erasure.states, attention: 2 }, open: 5, overdue: 1 },
    openRequests: [
      request(6, 'attention', 33, -3, { reasons: ['events_unconfirmed'] }),
      request(7, 'attention', 21, 9, { reasons: ['residue_found', 'reader_holds_wal'] }),
      ...freshContent.openRequests,
    ],
  },
  [alertOf('overdue', '1 erasure request is overdue'), alertOf('attention', '2 erasure requests need you')],
);

const empty: ProjectOverview = {
  ...fresh,
  jobs: jobs.map((one) => ({ ...one, lastAt: null, lastOutcome: null, lastSuccessAt: null })),
  content: null,
};

/** Jobs that have failed for a reason since a time ago; the others are as they were. */
function failingJobs(
  names: readonly string[],
  reason: string,
  sinceMs: number,
  from: readonly JobState[] = jobs,
): JobState[] {
  return from.map((one) =>
    names.includes(one.job)
      ? {
          ...one,
          lastOutcome: 'failed',
          lastReason: reason,
          lastSuccessAt: null,
          failing: { reason, since: before(sinceMs) },
          consecutiveFailures: 1,
        }
      : { ...one, lastSuccessAt: one.lastSuccessAt === null ? null : before(sinceMs + hourMs) },
  );
}

/** A first start with a key that the service refuses: three jobs have failed within the first minute. */
const refusedKey: ProjectOverview = {
  ...empty,
  jobs: failingJobs(['full', 'recordings', 'head'], 'key_refused', 40_000, empty.jobs),
  alerts: [alertOf('refused', 'the service refuses the key since 2026-11-20 12:03 UTC: full, recordings, head')],
};

/** The service has not answered for three hours, and ten requests were held before that. */
const down: Mirrored = {
  ...held,
  jobs: failingJobs(['full', 'recordings', 'head', 'playlists', 'reconcile'], 'unreachable', 3 * hourMs),
  alerts: [
    alertOf('unreachable', 'the service does not answer since 2026-11-20 09:04 UTC: full, recordings, head'),
    alertOf('stale', 'head shows no success of its last two periods', 'head'),
    ...held.alerts,
  ],
};

const running = changed(
  {
    ...dayContent([
      {
        id: 5000,
        job: 'full',
        startedAt: before(41 * minuteMs),
        finishedAt: null,
        outcome: 'running',
        reason: null,
        requests: 512,
      },
      ...dayOfRuns(),
    ]),
    passes: [
      pass('persons', 'full', { verdict: 'running', startedAt: before(41 * minuteMs), finishedAt: null }),
      ...freshContent.passes.slice(1),
    ],
    windows: freshContent.windows.map((window) =>
      window.perSeconds === 3600 && window.lane === 'general' ? Object.assign({}, window, { used: 1178 }) : window,
    ),
  },
  [],
  {
    jobs: jobs.map((one) =>
      one.job === 'full'
        ? Object.assign({}, one, { runningSince: before(41 * minuteMs), lastOutcome: 'running' })
        : one,
    ),
  },
);

const many = changed({
  erasure: {
    states: { received: 20, executing: 60, locally_verified: 20, awaiting_upstream: 400, sealed: 12_400 },
    open: 500,
    overdue: 0,
    nextDueAt: later(2.1 * dayMs),
    eventsExpectedBy: later(9.7 * dayMs),
    fence: { entries: 51_233, hits: 1204, recreated: 7 },
    access: { open: 0, overdue: 0, nextDueAt: null },
    listedAgain: { letIn: 0, out: [] },
  },
  openRequests: Array.from({ length: 12 }, (_request, index) =>
    request(20 + index, 'awaiting_upstream', 28 - index, 2.1 + index, { eventsExpectedBy: later(2.7 * dayMs) }),
  ),
});

const broken = changed(
  { snapshots: null, ledger: 'unreadable' },
  [
    alertOf('ledger_unwritable', 'the ledger cannot be written'),
    alertOf('disk_low', 'the disk of the data folder has 212 MB left'),
  ],
  { condition: { ...condition, diskFreeBytes: 212_000_000, isLedgerWritable: false } },
);

const nearStanding: Whereabouts = { machine: 'mirror-1', isHere: true, isPaused: false, at: before(20_000) };
const far: ProjectOverview = {
  ...fresh,
  content: null,
  name: 'blog',
  cluster: { ...nearStanding, machine: 'mirror-2', isHere: false },
};
const silentProject: ProjectOverview = {
  ...far,
  cluster: { ...nearStanding, machine: null, isHere: false, at: before(hourMs) },
  alerts: [alertOf('unattended', 'no machine has worked on it for 3 minutes')],
};

/** Every state of the world that the page has to show. */
export const worlds = {
  fresh: world(fresh),
  running: world(running),
  stale: world(stale),
  held: world(held),
  attention: world(attention),
  broken: world(broken),
  empty: world(empty),
  'no project': world(),
  'refused key': world(refusedKey),
  'service down': world(down),
  'two projects, one down': world(fresh, { ...down, name: 'staging' }),
  'two projects, both down': world(
    { ...down, name: 'shop' },
    { ...down, name: 'blog', jobs: failingJobs(['full', 'head'], 'unreachable', hourMs) },
  ),
  'five hundred requests': world(many),
  cluster: world(
    { ...fresh, cluster: nearStanding },
    far,
    { ...far, name: 'paused', cluster: { ...nearStanding, machine: null, isHere: false, isPaused: true } },
    { ...silentProject, name: 'silent' },
  ),
  'two projects': world(fresh, { ...stale, name: 'staging with a rather long name of its own' }),
} satisfies Record<string, Overview>;

/** A cluster of a thousand projects on other machines; no machine works on one of them. */
export const thousandProjects: Overview = world(
  ...Array.from({ length: 1000 }, (_, index) => ({
    ...(index === 900 ? silentProject : far),
    name: `project-${index}`,
  })),
);
