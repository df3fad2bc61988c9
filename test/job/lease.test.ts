import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, renameSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { presentHolder, waitForLease, type Lease } from '../../src/job/lease.ts';
import { readLease, readQueue } from '../../src/mirror/lease-rows.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';
import { acquireLease } from './take-lease.ts';

const busy = { code: 'busy' };

it('has one holder at a time, also within a process', async () => {
  const { db, dataDir } = openTestMirror();
  const { db: other } = openTestMirror(dataDir);
  const lease = await acquireLease(db, 'sync', stillClock);
  expect([presentHolder(db)?.job, presentHolder(other)?.job]).toEqual(['sync', 'sync']);
  for (const each of [db, other]) await expect(acquireLease(each, 'export', stillClock)).rejects.toMatchObject(busy);
  lease.release();
  expect([lease.isHeld(), presentHolder(other), readLease(other)]).toEqual([false, undefined, undefined]);
  const next = await acquireLease(other, 'export', stillClock);
  // What was given back is not taken from another by giving it back once more.
  lease.release();
  expect(presentHolder(db)?.job).toBe('export');
  next.release();
});

it('is held as long as its process lives, whatever clocks say, and not for a moment longer', async () => {
  const { db, dataDir } = openTestMirror();
  const module = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const script = `const { waitForLease } = await import(${module('job/lease.ts')});
    const { openDatabase } = await import(${module('mirror/database.ts')});
    const { systemClock } = await import(${module('core/clock.ts')});
    const asking = { job: 'reconcile', clock: systemClock, signal: new AbortController().signal, untilMs: 0 };
    await waitForLease(openDatabase(${JSON.stringify(dataDir)}, systemClock), asking);
    process.stdout.write('held');
    setTimeout(() => undefined, 600_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const inTenYears = { ...stillClock, now: () => stillClock.now() + 10 * 365 * 86_400_000 };
  for (const clock of [stillClock, inTenYears])
    await expect(acquireLease(db, 'export', clock)).rejects.toMatchObject(busy);
  child.kill('SIGSTOP');
  await expect(acquireLease(db, 'export', inTenYears)).rejects.toMatchObject(busy);
  expect(presentHolder(db)).toMatchObject({ job: 'reconcile', pid: child.pid });
  child.kill('SIGKILL');
  await once(child, 'exit');
  // Its row is left, and tells nothing any more.
  expect([readLease(db)?.job, presentHolder(db)]).toEqual(['reconcile', undefined]);
  const lease = await acquireLease(db, 'export', stillClock);
  expect(presentHolder(db)?.job).toBe('export');
  lease.release();
});

it('is refused where another folder stands in place of the one that was opened', async () => {
  const { db, dataDir } = openTestMirror();
  const held = await acquireLease(db, 'sync', stillClock);
  held.release();
  cpSync(dataDir, `${dataDir}.new`, { recursive: true });
  renameSync(dataDir, `${dataDir}.old`);
  renameSync(`${dataDir}.new`, dataDir);
  chmodSync(dataDir, 0o700);
  const replaced = { code: 'storage', message: expect.stringContaining('mirror.db was replaced or removed') };
  await expect(acquireLease(db, 'sync', stillClock)).rejects.toMatchObject(replaced);
  const { db: anew } = openTestMirror(dataDir);
  (await acquireLease(anew, 'sync', stillClock)).release();
});

it('is refused once a newer version has changed the tables of a mirror that is open', async () => {
  const { db, dataDir } = openTestMirror();
  (await acquireLease(db, 'sync', stillClock)).release();
  const { db: other } = openTestMirror(dataDir);
  other.exec(
    `INSERT INTO schema_migrations (version, name, digest, applied_at) VALUES (9000, '9000-later.sql', '-', '-')`,
  );
  const newer = { code: 'storage', message: expect.stringContaining('written by a newer version') };
  await expect(acquireLease(db, 'sync', stillClock)).rejects.toMatchObject(newer);
});

it('makes no folder in the place of one that was moved away, so that it can come back', async () => {
  const { db, dataDir } = openTestMirror();
  renameSync(dataDir, `${dataDir}.old`);
  await expect(acquireLease(db, 'intake', stillClock)).rejects.toMatchObject({ code: 'storage' });
  expect(existsSync(dataDir)).toBe(false);
  renameSync(`${dataDir}.old`, dataDir);
  (await acquireLease(db, 'sync', stillClock)).release();
});

it('is given back where its holder cannot be noted', async () => {
  const { db, dataDir } = openTestMirror();
  db.exec(`CREATE TRIGGER full BEFORE INSERT ON lease BEGIN SELECT raise(ABORT, 'no room'); END`);
  await expect(acquireLease(db, 'sync', stillClock)).rejects.toThrow('no room');
  db.exec('DROP TRIGGER full');
  (await acquireLease(openTestMirror(dataDir).db, 'sync', stillClock)).release();
});

it('tells who waits for whom, once', async () => {
  const { db } = openTestMirror();
  const lease = await acquireLease(db, 'sync', stillClock);
  const told: string[] = [];
  const waiting = waitForLease(db, {
    job: 'head',
    clock: { ...stillClock, sleep: () => Promise.resolve(told.length > 0 ? lease.release() : undefined) },
    signal: new AbortController().signal,
    untilMs: Infinity,
    onWait: ({ job }) => told.push(job),
  });
  (await waiting).release();
  expect(told).toEqual(['sync']);
});

it('no run gives up because of who has it for a moment', async () => {
  const { db } = openTestMirror();
  const moment = await acquireLease(db, 'intake', stillClock);
  let nowMs = stillClock.now();
  const releasing = {
    now: () => nowMs,
    sleep: (ms: number) => {
      nowMs += ms;
      if (nowMs - stillClock.now() >= 1_000) moment.release();
      return Promise.resolve();
    },
  };
  const lease = await acquireLease(db, 'sync', releasing);
  expect(presentHolder(db)?.job).toBe('sync');
  lease.release();
  const longer = await acquireLease(db, 'intake', stillClock);
  await expect(
    acquireLease(db, 'sync', { ...releasing, sleep: (ms) => ((nowMs += ms), Promise.resolve()) }),
  ).rejects.toMatchObject(busy);
  longer.release();
});

it('is left by a reconciliation to others, not to a second one: that would begin the same again; and by a pass to one that has begun', async () => {
  const { db, dataDir } = openTestMirror();
  const { signal } = new AbortController();
  const clock = { now: () => Date.now(), sleep: (): Promise<void> => delay(1) };
  const ends: string[] = [];
  const held = new Map<string, Lease>();
  const asks = async (name: string): Promise<void> => {
    const [job = ''] = name.split(' ');
    const asking = { job, clock, signal, untilMs: Infinity, onWait: () => undefined };
    held.set(name, await waitForLease(openTestMirror(dataDir).db, asking));
    ends.push(name);
  };
  const inQueue = (count: number): Promise<void> => vi.waitFor(() => expect(readQueue(db)).toHaveLength(count));
  await asks('sync');
  const second = [asks('reconcile')];
  await inQueue(1);
  const pass = held
    .get('sync')
    ?.giveWay(signal)
    .then(() => ends.push('sync again'));
  await Promise.all(second);
  const first = held.get('reconcile');
  const other = asks('reconcile second');
  await inQueue(2);
  expect(first?.isWanted()).toBe(false);
  const guest = asks('export');
  await inQueue(3);
  expect(first?.isWanted()).toBe(true);
  const again = first?.giveWay(signal).then(() => ends.push('reconcile again'));
  await pass;
  // The guest could give up: then nobody else would wait for the pass to give way.
  expect(held.get('sync')?.isWanted()).toBe(true);
  held.get('sync')?.release();
  await guest;
  held.get('export')?.release();
  await again;
  first?.release();
  await other;
  held.get('reconcile second')?.release();
  expect(ends).toEqual(['sync', 'reconcile', 'sync again', 'export', 'reconcile again', 'reconcile second']);
});
