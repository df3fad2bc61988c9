import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, vi } from 'vitest';
import type { Running } from './run-cli.ts';
import { unlimited, type Workspace } from './workspace.ts';

/** What all processes of a command may have together, in megabytes: one that has more is killed. */
const allMax = 768;

/** What was seen of a command from outside, in megabytes: the most that each of its processes had, and all at once. */
type Watched = { peaks: () => number[]; sum: () => number; stop: () => void };

/** Watches a command and what it starts, by what the system counts. Kills it beyond the limit. */
function watchMemory({ child }: Running): Watched {
  const peaks = new Map<number, number>();
  let sum = 0;
  const watch = setInterval(() => {
    const living = processesBelow(child.pid ?? 0).map((pid) => [pid, statusOf(pid)] as const);
    for (const [pid, status] of living) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, megabytesIn(status, 'VmHWM')));
    sum = Math.max(
      sum,
      living.reduce((all, [, status]) => all + megabytesIn(status, 'VmRSS'), 0),
    );
    if (sum > allMax) child.kill('SIGKILL');
  }, 50);
  return { peaks: () => [...peaks.values()], sum: () => sum, stop: () => clearInterval(watch) };
}

/** Expects that a command stayed within the limit, and says what it had. */
function expectWithin(what: string, { peaks, sum }: Watched): void {
  process.stdout.write(`${what}: ${peaks().map(Math.round).join(' + ')} MB, at once ${Math.round(sum())} MB\n`);
  expect(sum()).toBeLessThan(allMax);
}

/** Runs a command to its end, within the limit, and expects that it is done. */
export async function runWithin({ start }: Workspace, args: readonly string[]): Promise<void> {
  const shell = limitingShell();
  const running = start(args, { ...patience, ...(shell ? { shell } : {}) });
  const watched = watchMemory(running);
  const { code, stderr } = await running.ended.finally(watched.stop);
  expectWithin(args.slice(0, 2).join(' '), watched);
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

/**
 * A shell line that runs a command and what it starts in a control group of its own, where the system allows no more memory
 * than the limit, the caches of its files among it. Undefined where this user may make none.
 */
function limitingShell(): string | undefined {
  const name = `analytics-mirror-test-${process.pid}-${(groups += 1)}`;
  for (const [root, limit] of [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max'],
  ] as const)
    try {
      const group = join(root, name);
      mkdirSync(group);
      onTestFinished(() => rmdirSync(group));
      writeFileSync(join(group, limit), String(allMax * 1024 * 1024));
      return `echo $$ > ${join(group, 'cgroup.procs')} && exec "$@"`;
    } catch {
      // Another kind of control groups, or none for this user.
    }
  return undefined;
}

let groups = 0;

const allJobs = ['full', 'recordings', 'playlists', 'head', 'export', 'reconcile', 'checkpoint', 'drill'];
/** How long a command under a limit may take. */
export const patience = { timeoutMs: 2_000_000 };

/**
 * Runs a worker, within the limit, which does these jobs again and again until an expectation holds. Meanwhile it has to
 * answer within a second whether it lives.
 */
export async function workWithin(
  what: string,
  { start }: Workspace,
  jobs: readonly string[],
  expectation: () => void,
  args: readonly string[] = [],
): Promise<void> {
  const schedule = allJobs.map((job) => `schedule.${job}=${jobs.includes(job) ? '"* * * * * *"' : 'null'}`);
  const settings = [...schedule, 'status.port=0'].flatMap((each) => ['--set', each]);
  const shell = limitingShell();
  const worker = start(['run', '--json', ...unlimited, ...settings, ...args], {
    ...patience,
    ...(shell ? { shell } : {}),
  });
  onTestFinished(() => void worker.child.kill('SIGKILL'));
  const watched = watchMemory(worker);
  const { statusUrl } = JSON.parse(await worker.output('stdout', /\n/)) as { statusUrl: string };
  const asked = askHealth(statusUrl);
  const isDone = vi.waitFor(expectation, { timeout: 1_800_000, interval: 500 });
  await Promise.race([
    isDone,
    worker.ended.then(({ stderr }) => Promise.reject(new Error(`it ended at ${watched.sum()} MB: ${stderr}`))),
  ]);
  const slowestMs = await asked.end();
  worker.child.kill('SIGTERM');
  expect(await worker.ended.finally(watched.stop)).toMatchObject({ code: 0 });
  process.stdout.write(`${what}: the slowest answer took ${Math.round(slowestMs)} ms\n`);
  expectWithin(what, watched);
  expect(slowestMs).toBeLessThan(1000);
}

/** What one statement finds in the mirror. */
export function valueIn(dataDir: string, sql: string): unknown {
  const db = new Sqlite(join(dataDir, 'mirror.db'), { readonly: true });
  try {
    return db.prepare(sql).pluck().get();
  } finally {
    db.close();
  }
}

const asking = `const { parentPort, workerData } = require('node:worker_threads');
let slowestMs = 0;
setInterval(async () => {
  const beganAtMs = performance.now();
  const status = await fetch(workerData + '/healthz').then((answer) => answer.status, () => 0);
  slowestMs = Math.max(slowestMs, status === 200 ? performance.now() - beganAtMs : Infinity);
  parentPort.postMessage(slowestMs);
}, 200);`;

/**
 * Asks a worker whether it lives, five times a second. Its end tells how long the slowest answer took. A thread of its own asks:
 * this one is the service too, and writes 50 MB into one answer.
 */
function askHealth(url: string): { end: () => Promise<number> } {
  const thread = new Worker(asking, { eval: true, workerData: url });
  let slowestMs = Infinity;
  thread.on('message', (soFar: number) => {
    slowestMs = soFar;
  });
  return {
    end: async () => {
      await thread.terminate();
      return slowestMs;
    },
  };
}

function megabytesIn(status: string, field: 'VmHWM' | 'VmRSS'): number {
  const [, kilobytes = '0'] = new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kilobytes) / 1024;
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

function processesBelow(root: number): number[] {
  const parents = readdirSync('/proc').flatMap((name) => {
    const [, parent] = /^PPid:\s*(\d+)$/m.exec(/^\d+$/.test(name) ? statusOf(Number(name)) : '') ?? [];
    return parent === undefined ? [] : [{ pid: Number(name), parent: Number(parent) }];
  });
  const found = [root];
  for (const each of found) found.push(...parents.flatMap(({ pid, parent }) => (parent === each ? [pid] : [])));
  return found;
}
