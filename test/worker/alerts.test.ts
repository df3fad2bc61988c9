import { expect, it } from 'vitest';
import { alertChanges, alertOf, alertsOf } from '../../src/worker/alerts.ts';
import type { JobState, ProjectCondition } from '../../src/job/worker-state.ts';
import type { Alert } from '../../src/mirror/open-alerts.ts';
import { calm, newJob } from '../job/worker-states.ts';

const hour = 3_600_000;
const nowMs = Date.UTC(2026, 2, 10, 12);
const ago = (ms: number): string => new Date(nowMs - ms).toISOString();

const job: JobState = { ...newJob, nextAt: ago(0), lastAt: ago(hour), lastOutcome: 'done', lastSuccessAt: ago(hour) };
const service = { baseUrl: null, projectId: null, keyFrom: 'the file that `apiKeyFile` of project a names' };
const condition: ProjectCondition = { ...calm, diskFreeBytes: 2e9, logBytes: 1e8 };

function kinds({
  problem = null,
  jobs = {},
  found = {},
  standing = [],
}: {
  problem?: string | null;
  jobs?: Partial<JobState>;
  found?: Partial<ProjectCondition>;
  standing?: Alert[];
}) {
  const project = {
    name: 'a',
    dataDir: '/a',
    service,
    problem,
    jobs: [{ ...job, ...jobs }],
    condition: { ...condition, ...found },
  };
  const facts = { nowMs, startedAtMs: nowMs - 30 * hour, detail: null, standing };
  return alertsOf(project, facts).map(({ kind }) => kind);
}

it.each([
  ['nothing', {}, []],
  ['an unusable folder', { problem: 'storage' }, ['unopened']],
  ['no success for two periods', { jobs: { lastSuccessAt: ago(49 * hour) } }, ['stale']],
  ['no success for nearly two periods', { jobs: { lastSuccessAt: ago(47 * hour) } }, []],
  ['a success that a clock ahead has dated', { jobs: { lastSuccessAt: ago(-49 * hour) } }, ['stale']],
  ['a success of a clock that is a little ahead', { jobs: { lastSuccessAt: ago(-hour) } }, []],
  ['no success ever, in a young worker', { jobs: { lastSuccessAt: null } }, []],
  [
    'no success ever, in a young worker after one that found it stale',
    { jobs: { lastSuccessAt: null }, standing: [alertOf('stale', 'old', 'full')] },
    ['stale'],
  ],
  ['no success ever, for two periods', { jobs: { lastSuccessAt: null, periodMs: 10 * hour } }, ['stale']],
  ['a quick job that waited for a long one', { jobs: { lastSuccessAt: ago(2 * hour), periodMs: 60_000 } }, []],
  ['a failure', { jobs: { consecutiveFailures: 1 } }, []],
  [
    'a refused key',
    { jobs: { failing: { reason: 'key_refused', since: ago(0) }, consecutiveFailures: 1 } },
    ['refused'],
  ],
  [
    'a service that has answered nothing since',
    { jobs: { failing: { reason: 'unreachable', since: ago(hour) }, consecutiveFailures: 9 } },
    ['unreachable'],
  ],
  [
    'a warehouse that is away',
    { jobs: { job: 'load' as const, failing: { reason: 'unreachable', since: ago(hour) }, consecutiveFailures: 2 } },
    ['failing'],
  ],
  [
    'a service that has answered a job since',
    {
      jobs: {
        failing: { reason: 'unreachable', since: ago(2 * hour) },
        consecutiveFailures: 1,
        lastAt: ago(2 * hour),
        lastSuccessAt: ago(hour),
      },
    },
    [],
  ],
  [
    'a failure of another kind',
    { jobs: { failing: { reason: 'storage', since: ago(0) }, consecutiveFailures: 2 } },
    ['failing'],
  ],
  ['what a job found', { jobs: { lastFound: 'files_damaged' } }, ['damaged']],
  ['a witness that refused', { jobs: { lastFound: 'anchor_refused' } }, ['anchor_refused']],
  ['an anchor that is missing', { jobs: { lastFound: 'anchor_missing' } }, ['anchor_missing']],
  ['a consumer that is silent', { jobs: { lastFound: 'consumers_silent' } }, ['unacknowledged']],
  ['an anchor that is away', { jobs: { lastFound: 'anchor_away' } }, []],
  ['two failures', { jobs: { consecutiveFailures: 2 } }, ['failing']],
  ['a held plan', { found: { heldPlans: 1 } }, ['held']],
  ['a held request', { found: { heldRequests: 1 } }, ['held']],
  ['a bucket that is behind', { found: { bucketsBehind: 1 } }, ['bucket_behind']],
  ['a sender that accepts no callbacks', { found: { uncalledSenders: 1 } }, ['uncalled']],
  ['a request that was given up', { found: { givenUpRequests: 1 } }, ['given_up']],
  ['a request that calls for attention', { found: { attentionRequests: 1 } }, ['attention']],
  ['an overdue request', { found: { overdueRequests: 1 } }, ['overdue']],
  ['a property that appeared', { found: { newProperties: 1 } }, ['new_property']],
  ['a disk that fills up', { found: { diskFreeBytes: 1e9 - 1 } }, ['disk_low']],
  ['a full disk where no room is asked for', { found: { diskFreeBytes: 0, diskFreeBytesMin: 0 } }, ['disk_low']],
  ['a log that a reader holds', { found: { logBytes: 4e8 } }, ['log_held']],
  ['a log as large as a checkpoint leaves it', { found: { logBytes: 131_072_000 } }, []],
  ['a ledger that cannot be written', { found: { isLedgerWritable: false } }, ['ledger_unwritable']],
  [
    'everything at once, the most pressing first',
    { jobs: { consecutiveFailures: 3 }, found: { heldPlans: 1, overdueRequests: 2, diskFreeBytes: 0 } },
    ['disk_low', 'overdue', 'held', 'failing'],
  ],
])('%s', (_what, given, expected) => {
  expect(kinds(given)).toEqual(expected);
});

it('says of a refused key where this project has it from', () => {
  const failing = { reason: 'key_refused', since: ago(hour) };
  const project = { service, problem: null, jobs: [{ ...job, failing }], condition: null };
  const [alert] = alertsOf(project, { nowMs, startedAtMs: nowMs, standing: [], detail: null });
  expect(alert).toMatchObject({
    kind: 'refused',
    todo: expect.stringContaining('Check the file that `apiKeyFile` of project a names, its scopes') as string,
  });
});

it('says of an unusable folder what its error says is to be done', () => {
  const project = { name: 'a', dataDir: '/a', service, problem: 'usage', jobs: [], condition: null };
  const [alert] = alertsOf(project, {
    nowMs,
    startedAtMs: nowMs,
    standing: [],
    detail: { message: 'others may read it', hint: 'run: chmod 700 /a' },
  });
  expect(alert).toMatchObject({
    kind: 'unopened',
    message: 'the data folder cannot be used: others may read it',
    todo: 'run: chmod 700 /a',
  });
});

it('tells what began and what ended, per project and job, and nothing of what goes on', () => {
  const stale = (job: Alert['job']): Alert => ({ kind: 'stale', job, message: 'm', todo: 't' });
  const before = [
    { name: 'a', alerts: [stale('full'), stale('head')] },
    { name: 'b', alerts: [] },
  ];
  const after = [
    { name: 'a', alerts: [stale('head')] },
    { name: 'b', alerts: [stale('head')] },
  ];
  expect(alertChanges(before, after, 'T')).toEqual([
    { event: 'ended', project: 'a', alert: stale('full'), at: 'T' },
    { event: 'began', project: 'b', alert: stale('head'), at: 'T' },
  ]);
});
