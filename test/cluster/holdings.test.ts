import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openClusterDatabase } from '../../src/cluster/cluster-database.ts';
import type { SharedProject } from '../../src/cluster/holding-rows.ts';
import { openHoldings, type Holding, type Holdings } from '../../src/cluster/holdings.ts';
import { clusterTiming, type ClusterTiming } from '../../src/cluster/timing.ts';
import { cutConnections, freshDatabase, run } from './cluster-world.ts';
import type { HolderOptions } from './holder.ts';

const project: SharedProject = { id: 'p', name: 'shop' };
const timing: ClusterTiming = { beatMs: 300, leaseMs: 4000 };

/** A cluster: its database, and what opens the holdings of a machine in this process or in one of its own. */
async function openCluster(ofMachines = timing) {
  const address = await freshDatabase();
  const open = (machine: string, schema = 1): Holdings => {
    const database = openClusterDatabase(address);
    const holdings = openHoldings({ database, address, machine, schema, timing: ofMachines });
    onTestFinished(async () => {
      await holdings.close();
      await database.close();
    });
    return holdings;
  };
  /** `beatAfterMs`: how long the thread of the beats takes to start. */
  const start = (machine: string, { computeMs = 0, beatAfterMs = 0, timing: own = timing } = {}) => {
    const options: HolderOptions = { address, machine, timing: own, computeMs };
    const [program, late] = ['holder.ts', 'late-threads-child.ts'].map((name) => new URL(name, import.meta.url));
    const args = ['--import', String(late), fileURLToPath(program ?? ''), JSON.stringify(options)];
    const env = { ...process.env, THREADS_LATE_MS: String(beatAfterMs) };
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
    const hear = async (text: string): Promise<string[]> => {
      while (!said.includes(text)) await delay(5);
      return said.split('\n');
    };
    return { child, hear };
  };
  return { address, open, start };
}

/** Takes the project as soon as it can be taken: how long that took, in milliseconds, and the holding. */
async function takeWhenFree(holdings: Holdings): Promise<{ holding: Holding; afterMs: number }> {
  const began = Date.now();
  for (;;) {
    const holding = await holdings.take(project, 'worker').catch(() => undefined);
    if (holding) return { holding, afterMs: Date.now() - began };
    await delay(50);
  }
}

test('a project is held by one machine at a time, under a token that grows', async () => {
  const { open } = await openCluster();
  const [a, b] = [open('a'), open('b')];
  const first = await a.take(project, 'worker');
  await expect(b.take(project, 'sync')).rejects.toMatchObject({
    code: 'busy',
    message: 'the project shop cannot be taken now: a holds it (worker)',
  });
  await expect(a.take(project, 'sync')).rejects.toMatchObject({ code: 'busy' });
  await first.release();
  const second = await b.take(project, 'sync');
  expect(second.token).toBeGreaterThan(first.token);
  // What is given up is no longer its former holder's to give.
  await first.release();
  await expect(a.take(project, 'worker')).rejects.toThrow('b holds it (sync)');
  expect(() => second.check()).not.toThrow();
});

test('the next holder hears how long the ledger was at the last commit, and nothing of what an overtaken one says', async () => {
  const { open } = await openCluster();
  const first = await open('a').take(project, 'worker');
  expect(first.ledgerSize).toBe(0);
  await first.noteLedgerSize(12);
  await first.release();
  const second = await open('b').take(project, 'worker');
  await first.noteLedgerSize(99);
  await second.release();
  expect([second.ledgerSize, (await open('c').take(project, 'worker')).ledgerSize]).toEqual([12, 12]);
});

test('a project that could not be opened is as it was: not newer, and not younger', async () => {
  const { address, open } = await openCluster();
  await (await open('a').take(project, 'worker')).release();
  const row = () => run(address, 'SELECT schema, taken_at, machine FROM analytics_mirror.projects');
  const before = await row();
  const held = await open('newer', 2).take(project, 'worker');
  expect(await row()).toMatchObject([{ schema: 2, machine: 'newer' }]);
  await held.release(true);
  expect(await row()).toEqual(before);
  await (await open('a').take(project, 'worker')).release();
});

test('of many machines that take one project at once, one gets it', async () => {
  const { open } = await openCluster();
  const taken = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => open(name).take(project, 'worker')));
  expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('a holder that beats keeps its project for much longer than the lease, also while it computes without a pause', async () => {
  const { open, start } = await openCluster();
  const { hear } = start('a', { computeMs: timing.leaseMs * 2 });
  await hear('taken ');
  await delay(timing.leaseMs * 1.5);
  await expect(open('b').take(project, 'worker')).rejects.toThrow('a holds it');
  const said = await hear('step');
  expect(said.join()).not.toContain('lost');
});

describe('a holder that is killed', () => {
  test('loses its project when its lease is over', async () => {
    const { open, start } = await openCluster();
    const { child, hear } = start('a');
    await hear('taken ');
    child.kill('SIGKILL');
    const { afterMs } = await takeWhenFree(open('b'));
    expect(afterMs).toBeGreaterThan(timing.leaseMs - timing.beatMs - 300);
    expect(afterMs).toBeLessThan(2 * timing.leaseMs);
  });

  test('by the times of the program: within a minute', async () => {
    const { open, start } = await openCluster();
    const { child, hear } = start('a', { timing: clusterTiming });
    await hear('taken ');
    child.kill('SIGKILL');
    const { afterMs } = await takeWhenFree(open('b'));
    process.stdout.write(`taken over ${(afterMs / 1000).toFixed(1)} s after the kill\n`);
    expect(afterMs).toBeLessThan(60_000);
  });
});

test('a holder that was stopped for longer than its lease notices before its next step', async () => {
  const { open, start } = await openCluster();
  const { child, hear } = start('a');
  await hear('step');
  child.kill('SIGSTOP');
  await takeWhenFree(open('b'));
  const steps = (await hear('step')).length;
  child.kill('SIGCONT');
  const said = await hear('lost');
  // What it had said before it was stopped can still arrive.
  expect(said.length - steps).toBeLessThan(4);
  expect(said.at(-2)).toMatch(/^lost: .*another machine/);
});

test('a beat that did not name a project keeps none: that of a thread which starts after another machine has taken it', async () => {
  const { open, start } = await openCluster();
  const { leaseMs } = timing;
  const slow = { beatMs: leaseMs * 0.75, leaseMs };
  const { child, hear } = start('a', { computeMs: leaseMs * 2, beatAfterMs: leaseMs * 1.5, timing: slow });
  await hear('taken ');
  child.kill('SIGSTOP');
  await takeWhenFree(open('b'));
  child.kill('SIGCONT');
  expect((await hear('lost')).filter((text) => text === 'step')).toEqual([]);
});

test('a holder whose connections are cut goes on; one that cannot reach the database stops before others take over', async () => {
  const { address, open } = await openCluster();
  const [a, b] = [open('a'), open('b')];
  const holding = await a.take(project, 'worker');
  await delay(timing.beatMs * 2);
  await cutConnections(address);
  await delay(timing.leaseMs);
  expect(() => holding.check()).not.toThrow();
  await expect(b.take(project, 'worker')).rejects.toMatchObject({ code: 'busy' });
  await run(address, `ALTER TABLE analytics_mirror.projects RENAME held_until TO away`);
  const cutAt = Date.now();
  while (!holding.signal.aborted) await delay(10);
  expect(Date.now() - cutAt).toBeLessThan(timing.leaseMs);
  expect(() => holding.check()).toThrow('was not reached for too long');
  await run(address, `ALTER TABLE analytics_mirror.projects RENAME away TO held_until`);
  const { holding: next } = await takeWhenFree(b);
  expect(next.token).toBeGreaterThan(holding.token);
});

test('a holding that another process has overtaken is lost at the next beat', async () => {
  const { address, open } = await openCluster();
  const holding = await open('a').take(project, 'worker');
  await run(address, `UPDATE analytics_mirror.projects SET token = token + 1, machine = 'b'`);
  while (!holding.signal.aborted) await delay(10);
  expect(() => holding.check()).toThrow('another machine has taken the project over');
});

test('a project of which the bucket says that it was overtaken is free once it is released, and stays with who takes it then', async () => {
  const { open } = await openCluster();
  const [a, b] = [open('a'), open('b')];
  const holding = await a.take(project, 'worker');
  holding.lose();
  expect(() => holding.check()).toThrow('another machine has taken the project over');
  await expect(b.take(project, 'sync')).rejects.toThrow('a holds it (worker)');
  await holding.release();
  const next = await b.take(project, 'sync');
  await holding.release();
  expect(() => next.check()).not.toThrow();
  await expect(a.take(project, 'worker')).rejects.toThrow('b holds it (sync)');
});

test('the clock of the database set back: a killed holder blocks nothing for longer than its lease', async () => {
  const { address, open } = await openCluster();
  await (await open('a').take(project, 'worker')).release();
  await run(address, `UPDATE analytics_mirror.projects SET machine = 'a', held_until = now() + interval '1 hour'`);
  await expect(open('b').take(project, 'worker')).resolves.toBeDefined();
});

test('an older version takes nothing that a newer one has written', async () => {
  const { open } = await openCluster();
  await (await open('a', 24).take(project, 'worker')).release();
  await expect(open('b', 23).take(project, 'worker')).rejects.toMatchObject({
    code: 'usage',
    message: 'the project shop was written by a newer version of analytics-mirror',
  });
  await expect(open('c', 25).take(project, 'worker')).resolves.toBeDefined();
});

test('two workers do not run under one name; the one that follows a killed one does, when its time is over', async () => {
  const { address, open } = await openCluster();
  const first = open('a');
  await first.live();
  await delay(timing.leaseMs + timing.beatMs);
  await expect(open('a').live()).rejects.toMatchObject({
    code: 'busy',
    message: 'another worker runs as the machine a',
  });
  await open('b').live();
  await first.close();
  await open('a').live();
  expect(await run(address, `SELECT name FROM analytics_mirror.machines ORDER BY name`)).toEqual([
    { name: 'a' },
    { name: 'b' },
  ]);
});

test.each([
  ['came back empty', 'DROP SCHEMA analytics_mirror CASCADE'],
  [
    'is one of yesterday',
    `UPDATE analytics_mirror.projects SET token = 7, machine = 'b', held_until = now() - interval '1 day', name = 'old';
      UPDATE analytics_mirror.machines SET process = 'before', live_until = now() - interval '1 day'`,
  ],
])('a worker lives on, and keeps what it holds, where the database %s', async (_what, change) => {
  // A beat may take long on a machine that is busy, and its tables are made anew here.
  const patient = { ...timing, leaseMs: 20_000 };
  const { address, open } = await openCluster(patient);
  const a = open('a');
  await a.live();
  const holding = await a.take(project, 'worker');
  await run(address, change);
  const isKnown = `SELECT 1 FROM analytics_mirror.projects JOIN analytics_mirror.machines ON machines.name = projects.machine
    WHERE projects.token = $1 AND held_until > now() AND live_until > now() AND process <> 'before'`;
  await vi.waitFor(async () => expect(await run(address, isKnown, [holding.token])).toHaveLength(1), patient.leaseMs);
  expect(() => holding.check()).not.toThrow();
  await expect(open('b').take(project, 'worker')).rejects.toThrow('a holds it (worker)');
  await expect(open('a').live()).rejects.toMatchObject({ code: 'busy' });
  await holding.release();
  expect((await open('b').take(project, 'worker')).token).toBeGreaterThan(holding.token);
});
