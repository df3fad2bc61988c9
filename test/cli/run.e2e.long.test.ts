import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openDatabase, openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { listRuns, type Run } from '../../src/mirror/runs.ts';
import { systemClock } from '../../src/core/clock.ts';
import { bodyOf, localServer } from '../client/local-server.ts';
import { jsonOf, runCli, type Running } from './run-cli.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 400, recordings: 60 });
});
afterAll(() => workspace[Symbol.asyncDispose]());

const never = (...jobs: string[]): string[] => jobs.flatMap((job) => ['--set', `schedule.${job}=null`]);
/** Only the newest, every second. */
const onlyHead = [
  ...never('reconcile', 'full', 'recordings', 'playlists', 'export', 'checkpoint', 'drill'),
  '--set',
  'schedule.head="* * * * * *"',
];
/** Two requests, and then a wait that no test lives to see the end of. */
const stuck = ['--set', 'persons.pageSize=20', '--set', 'budget.windows=[{requests: 2, perSeconds: 3600}]'];
const anyPort = ['--set', 'status.port=0'];

function runsIn(dataDir: string): Run[] {
  using db = openDatabaseReadOnly(dataDir);
  return listRuns(db, 1000);
}

/** Waits until the runs of a data folder are as wanted. */
function untilRuns(dataDir: string, wanted: (runs: Run[]) => boolean): Promise<Run[]> {
  return vi.waitFor(
    () => {
      const runs = runsIn(dataDir);
      if (!wanted(runs)) throw new Error(`not yet: ${JSON.stringify(runs.slice(0, 3))}`);
      return runs;
    },
    { timeout: 30_000, interval: 50 },
  );
}

function startWorker(dataDir: string, args: readonly string[], env: Record<string, string> = {}): Running {
  const running = workspace.start(['run', '--data-dir', dataDir, ...anyPort, ...args], { env });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

const done = ({ outcome }: Run): boolean => outcome === 'done';

describe('run', () => {
  it('goes on where whoever read what it prints has gone', async () => {
    const dataDir = join(workspace.folder, 'unread');
    const worker = startWorker(dataDir, [...unlimited, ...onlyHead]);
    worker.child.stdout.destroy();
    await untilRuns(dataDir, (all) => all.filter(done).length >= 2);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('"stopped"') as string });
  });

  it('makes up for everything at its first start, follows its schedule, shows it in status, and stops with 0', async () => {
    const dataDir = join(workspace.folder, 'first');
    const worker = startWorker(dataDir, [...unlimited, '--json', '--set', 'schedule.head="* * * * * *"']);
    const runs = await untilRuns(dataDir, (all) => all.filter(done).length >= 8);
    expect(new Set(runs.map(({ job }) => job))).toEqual(
      new Set(['reconcile', 'full', 'recordings', 'head', 'export', 'checkpoint', 'drill']),
    );
    const status = jsonOf(await workspace.run(['status', '--json', '--data-dir', dataDir])) as { schedule: object[] };
    expect(status.schedule).toContainEqual({
      job: 'full',
      cron: '0 2 * * *',
      nextAt: expect.stringMatching(/T02:00:00\.000Z$/),
      lastAt: expect.any(String),
      lastOutcome: 'done',
    });
    const { statusUrl } = JSON.parse(await worker.output('stdout', /\n/)) as { statusUrl: string };
    expect((await fetch(`${statusUrl}/healthz`)).status).toBe(200);
    expect(await (await fetch(`${statusUrl}/status.json`)).json()).toMatchObject({
      projects: [{ name: 'default', problem: null, jobs: expect.any(Array) }],
    });
    worker.child.kill('SIGTERM');
    const ended = await worker.ended;
    expect(ended.code).toBe(0);
    expect(jsonOf(ended)).toMatchObject({
      schedule: expect.arrayContaining([expect.objectContaining({ job: 'head' })]),
    });
    expect(runsIn(dataDir).every(({ outcome }) => outcome === 'done' || outcome === 'interrupted')).toBe(true);
  });

  it('ends what it does at the next safe point on SIGTERM, and at once on a second; nothing is lost either way', async () => {
    const dataDir = join(workspace.folder, 'stopped');
    const onlyFull = [...never('reconcile', 'recordings', 'playlists', 'head', 'export', 'checkpoint', 'drill')];
    const first = startWorker(dataDir, [...onlyFull, ...stuck]);
    await untilRuns(dataDir, ([run]) => run?.outcome === null);
    first.child.kill('SIGTERM');
    expect((await first.ended).code).toBe(0);
    expect(runsIn(dataDir)).toMatchObject([{ job: 'full', outcome: 'interrupted', reason: 'interrupted' }]);

    const second = startWorker(dataDir, [...onlyFull, ...stuck]);
    await untilRuns(dataDir, (runs) => runs.length === 2 && runs[0]?.outcome === null);
    // Stopped meanwhile, so that it meets both at once, before anything could end.
    for (const signal of ['SIGSTOP', 'SIGTERM', 'SIGINT', 'SIGCONT'] as const) second.child.kill(signal);
    expect((await second.ended).code).toBe(130);

    const third = startWorker(dataDir, [...onlyFull, ...unlimited]);
    await untilRuns(dataDir, ([run]) => run?.outcome === 'done');
    third.child.kill('SIGTERM');
    expect((await third.ended).code).toBe(0);
    const counted = await workspace.run([
      'query',
      'SELECT count(*) AS n FROM persons',
      '--json',
      '--data-dir',
      dataDir,
    ]);
    expect(counted.stdout).toContain('400');
  });

  it('goes on after kill -9, and marks the run that died', async () => {
    const dataDir = join(workspace.folder, 'killed');
    const onlyFull = [...never('reconcile', 'recordings', 'playlists', 'head', 'export', 'checkpoint', 'drill')];
    const first = startWorker(dataDir, [...onlyFull, ...stuck]);
    await untilRuns(dataDir, ([run]) => run?.outcome === null);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = startWorker(dataDir, [...onlyFull, ...unlimited]);
    const runs = await untilRuns(dataDir, ([run]) => run?.outcome === 'done');
    expect(runs).toMatchObject([{ outcome: 'done' }, { outcome: 'interrupted', reason: 'died' }]);
    second.child.kill('SIGINT');
    expect((await second.ended).code).toBe(0);
  });

  it('two workers on one folder never work against each other, and a command is told who holds it', async () => {
    const dataDir = join(workspace.folder, 'shared');
    openDatabase(dataDir, systemClock).close();
    const workers = [1, 2].map(() => startWorker(dataDir, [...onlyHead, ...unlimited]));
    const runs = await untilRuns(dataDir, (all) => all.filter(done).length >= 4);
    const inOrder = runs.toReversed();
    for (const [index, run] of inOrder.entries())
      if (index > 0) expect(run.startedAt >= (inOrder[index - 1]?.finishedAt ?? '')).toBe(true);
    expect(runs.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    for (const { child } of workers) child.kill('SIGTERM');
    expect((await Promise.all(workers.map(({ ended }) => ended))).map(({ code }) => code)).toEqual([0, 0]);

    const holder = startWorker(dataDir, [...onlyHead, ...stuck]);
    await untilRuns(dataDir, ([run]) => run?.outcome === null);
    const refused = await workspace.run(['sync', 'recordings', '--json', '--data-dir', dataDir]);
    expect(refused.code).toBe(5);
    expect(jsonOf(refused)).toMatchObject({
      error: { message: expect.stringContaining(`head, process ${holder.child.pid} on `) },
    });
    holder.child.kill('SIGTERM');
    expect((await holder.ended).code).toBe(0);
  });

  it('works on several projects; one that fails stops no other, and its alert is posted', async () => {
    const posted: unknown[] = [];
    const { origin } = await localServer(async (request, response) => {
      posted.push(JSON.parse(await bodyOf(request)));
      response.end();
    });
    const keyFile = join(workspace.folder, 'revoked-key');
    writeFileSync(keyFile, 'phx_revoked', { mode: 0o600 });
    const config = join(workspace.folder, 'projects.yaml');
    writeFileSync(config, `projects:\n  - name: revoked\n    apiKeyFile: ${keyFile}\n  - name: good\n  - name: twin\n`);
    const dataDir = join(workspace.folder, 'several');
    const worker = startWorker(
      dataDir,
      ['--config', config, ...onlyHead, '--set', 'budget.windows=[{requests: 30, perSeconds: 3600}]'],
      { MIRROR_ALERT_WEBHOOK: `${origin}/hook-secret` },
    );
    await worker.output('stderr', /"alert":"refused"/);
    await vi.waitFor(() => expect(posted).toHaveLength(1), { timeout: 10_000 });
    expect(posted).toEqual([
      {
        event: 'began',
        project: 'revoked',
        alert: 'refused',
        job: null,
        message: expect.stringMatching(/^the service refuses the key since .+ UTC: head$/),
        todo: expect.stringContaining('`analytics-mirror --project revoked doctor`'),
        at: expect.any(String),
      },
    ]);
    const folders = ['revoked', 'good', 'twin'].map((name) => join(dataDir, name));
    const requests = (): number =>
      folders.slice(1).reduce((sum, folder) => sum + runsIn(folder).reduce((all, run) => all + run.requests, 0), 0);
    await vi.waitFor(() => expect(folders.slice(1).flatMap(runsIn).filter(done).length).toBeGreaterThan(4), {
      timeout: 20_000,
    });
    const ended = runsIn(folders[0] ?? '').filter(({ outcome }) => outcome !== null);
    expect(new Set(ended.map(({ reason }) => reason))).toEqual(new Set(['key_refused']));
    worker.child.kill('SIGTERM');
    const { code, stderr } = await worker.ended;
    expect(code).toBe(0);
    // One key is one budget, also for two projects.
    expect(requests()).toBeLessThanOrEqual(31);
    expect(stderr).not.toMatch(/hook-secret|phx_/);

    const status = (...args: string[]) =>
      workspace.run(['status', '--json', '--config', config, '--data-dir', dataDir, ...args]);
    const { projects } = jsonOf(await status()) as { projects: { project: string }[] };
    // The worst comes first.
    expect(projects.map(({ project }) => project)).toEqual(['revoked', 'good', 'twin']);
    expect(jsonOf(await status('--project', 'good'))).toMatchObject({ dataDir: folders[1] });
  });

  it('refuses what cannot go well before it begins', async () => {
    const refusal = async (args: readonly string[], env: Record<string, string> = {}) => {
      const ended = await workspace.run(['run', '--json', ...anyPort, ...args], { env });
      return [ended.code, (jsonOf(ended) as { error: { message: string } }).error.message];
    };
    expect(await refusal([...onlyHead, '--set', 'schedule.head=null'])).toEqual([2, 'nothing is scheduled']);
    expect(await refusal([], { MIRROR_API_KEY: '' })).toEqual([2, expect.stringContaining('the API key')]);
    expect((await refusal(['--set', 'schedule.head=often']))[0]).toBe(2);
    const { port } = new URL(workspace.sandbox.url);
    expect(await refusal(['--set', `status.port=${port}`])).toEqual([2, expect.stringContaining('EADDRINUSE')]);
    expect(await refusal(['--set', 'status.host=0.0.0.0'])).toEqual([2, expect.stringContaining('open to everyone')]);
    for (const command of [['run'], ['status'], ['config', 'print']]) {
      const ended = await runCli(command, { env: { ...workspace.env, NODE_TLS_REJECT_UNAUTHORIZED: '0' } });
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain('NODE_TLS_REJECT_UNAUTHORIZED=0 turns the check of certificates off');
    }
    const open = join(workspace.folder, 'open');
    mkdirSync(open);
    chmodSync(open, 0o755);
    const ended = await workspace.run(['sync', '--data-dir', open]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(`run: chmod 700 ${open}`);
  });
});
