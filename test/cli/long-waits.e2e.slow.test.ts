import { expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import type { BudgetStanding } from '../../src/client/budget-standing.ts';
import { runSyncJob } from '../../src/worker/sync-job.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { jsonOf } from './run-cli.ts';
import { openWorkspace } from './workspace.ts';

const hourMs = 3_600_000;
/** No run of lost rows, that a pass of such small pages could not end with. */
const live = { ghostRun: 0 };
/** A service that counts by the hour as older versions of the public one do, and asks to wait for the rest of the hour. */
const rates = [{ requests: 6, perSeconds: 3600 }];
const settings = [
  { path: 'persons.pageSize', value: 50 },
  { path: 'persons.overlap', value: 5 },
  { path: 'budget.windows', value: [{ requests: 1000, perSeconds: 3600 }] },
  { path: 'budget.recordings.windows', value: [] },
];
const args = settings.flatMap(({ path, value }) => ['--set', `${path}=${JSON.stringify(value)}`]);

test.each(['documented', 'live'] as const)(
  'a sync of a %s service that asks for waits of an hour obeys each of them, and ends complete',
  async (profile) => {
    let nowMs = Date.now();
    const slept: number[] = [];
    const clock = {
      now: () => nowMs,
      sleep: async (ms: number) => {
        slept.push(ms);
        nowMs += ms;
      },
    };
    const sandbox = await startSandbox({ persons: 700, recordings: 0, seed: 3, port: 0, profile, rates, clock, live });
    onTestFinished(() => sandbox.close());
    const environment = {
      MIRROR_BASE_URL: sandbox.url,
      MIRROR_PROJECT_ID: sandbox.projectId,
      MIRROR_API_KEY: sandbox.apiKey,
      MIRROR_DATA_DIR: freshFolder(),
      MIRROR_LOG_LEVEL: 'silent',
    };
    const app = createApp({ environment, isTerminal: false, clock }, { set: settings });
    onTestFinished(() => app[Symbol.asyncDispose]());
    const job = { datasets: ['persons'], mode: 'full', resume: true } as const;
    const result = await runSyncJob(app.serviceContext(new AbortController().signal), job);
    expect(result).toMatchObject({ outcome: 'done', passes: [{ verdict: 'complete' }] });
    expect(slept.filter((ms) => ms > 0.9 * hourMs).length).toBeGreaterThan(1);
    // After each wait as many requests pass as the service takes, and one is refused.
    const statuses = sandbox.requests().map(({ status }) => status);
    const refused = statuses.filter((status) => status === 429).length;
    expect(refused).toBeLessThanOrEqual(Math.ceil((statuses.length - refused) / 6) * 4);
  },
);

test('a wait of an hour is told, holds other commands too, ends at once by a signal, and the sync goes on from there', async () => {
  await using workspace = await openWorkspace({ persons: 700, recordings: 0, rates });
  const sync = workspace.start(['sync', 'persons', ...args]);
  await sync.output('stderr', /too many requests, pausing/);

  const { budget, lease } = await vi.waitFor(async () => {
    const status = jsonOf(await workspace.run(['status', '--json', ...args])) as {
      budget: BudgetStanding;
      lease: { job: string } | null;
    };
    expect(status.budget.pausedUntil).not.toBeNull();
    return status;
  }, 60_000);
  const waitMs = Date.parse(budget.pausedUntil ?? '') - Date.now();
  expect(waitMs).toBeGreaterThan(0.9 * hourMs);
  expect(lease).toMatchObject({ job: 'sync' });
  const text = (await workspace.run(['status', ...args])).stdout;
  expect(text).toMatch(
    /^WAITING: the service asked for a pause \(429\): no request is sent before \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/m,
  );

  const asked = workspace.sandbox.requests().length;
  const doctor = jsonOf(await workspace.run(['doctor', '--json', ...args])) as {
    findings: { check: string; state: string; detail: string }[];
  };
  expect(doctor.findings.find(({ check }) => check === 'budget')).toMatchObject({ state: 'warning' });
  expect(doctor.findings.find(({ check }) => check === 'service: persons')).toMatchObject({ state: 'skipped' });
  expect(workspace.sandbox.requests()).toHaveLength(asked);

  const stoppedAtMs = performance.now();
  sync.child.kill('SIGTERM');
  const ended = await sync.ended;
  expect(performance.now() - stoppedAtMs).toBeLessThan(5000);
  expect(ended).toMatchObject({ code: 130 });
  const logged = ended.stderr.split('\n').find((each) => each.includes('pausing')) ?? '{}';
  const { until } = JSON.parse(logged) as { until: string };
  expect(Math.abs(Date.parse(until) - Date.parse(budget.pausedUntil ?? ''))).toBeLessThan(5000);

  // The next one waits for the same moment: it says so and asks for nothing.
  const again = workspace.start(['sync', 'persons', '--log-level', 'info', ...args]);
  await again.output('stderr', /waiting for the budget/);
  expect(workspace.sandbox.requests()).toHaveLength(asked);
  again.child.kill('SIGINT');
  expect((await again.ended).code).toBe(130);
});

test('a worker waits as long as the service asks, and lets go of the wait when it is stopped', async () => {
  await using workspace = await openWorkspace({ persons: 700, recordings: 0, rates });
  const worker = workspace.start(['run', '--set', 'status.port=0', '--set', 'run.drainSeconds=1', ...args]);
  await worker.output('stderr', /too many requests, pausing/);
  const asked = workspace.sandbox.requests().length;
  const status = jsonOf(await workspace.run(['status', '--json', ...args])) as {
    budget: BudgetStanding;
    runs: { outcome: string }[];
  };
  expect(Date.parse(status.budget.pausedUntil ?? '') - Date.now()).toBeGreaterThan(0.9 * hourMs);
  expect(status.runs[0]).toMatchObject({ outcome: 'running' });
  expect(workspace.sandbox.requests()).toHaveLength(asked);
  const stoppedAtMs = performance.now();
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  // It drains first: work under way may still end by itself.
  expect(performance.now() - stoppedAtMs).toBeLessThan(10_000);
});
