import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { acquireLease, processSpace } from '../../src/job/lease.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A held lease, and what its holder has heard of losing it. */
function held() {
  const { db } = openTestMirror();
  const losses: unknown[] = [];
  const lease = acquireLease(db, 'sync', stillClock, (error) => losses.push(error));
  return { db, lease, losses };
}

it('is kept by beats, and lost once to whoever takes it over', () => {
  const { db, lease, losses } = held();
  vi.advanceTimersByTime(60_000);
  expect(losses).toEqual([]);
  db.exec(`UPDATE lease SET holder = 'other'`);
  vi.advanceTimersByTime(60_000);
  expect(losses).toEqual([expect.objectContaining({ code: 'busy' })]);
  lease.release();
  expect(db.prepare(`SELECT holder FROM lease`).pluck().get()).toBe('other');
});

it('is lost, and the program not, when a beat cannot be written', () => {
  const { db, lease, losses } = held();
  db.exec(`CREATE TRIGGER full BEFORE UPDATE ON lease BEGIN SELECT raise(ABORT, 'no room'); END`);
  vi.advanceTimersByTime(60_000);
  expect(losses).toHaveLength(1);
  expect(losses[0]).toBeInstanceOf(Error);
  expect(losses[0]).not.toBeInstanceOf(AppError);
  lease.release();
});

it.each([
  ['long ago', '2020-01-01T00:00:00.000Z', true],
  ['far in the future, by a clock that was wrong', '2030-01-01T00:00:00.000Z', true],
  ['just now', new Date(stillClock.now()).toISOString(), false],
])('is taken over from another machine whose last beat was %s: %s, %s', (_when, beatAt, isTaken) => {
  const { db } = openTestMirror();
  acquireLease(db, 'sync', stillClock, () => undefined);
  db.prepare(`UPDATE lease SET holder = 'other', host = 'another-machine', beat_at = ?`).run(beatAt);
  const take = () => acquireLease(db, 'sync', stillClock, () => undefined);
  if (isTaken) expect(take).not.toThrow();
  else expect(take).toThrow(expect.objectContaining({ code: 'busy' }) as Error);
});

it('names the place where process numbers are shared: the same for every process beside this one', () => {
  const module = new URL('../../src/job/lease.ts', import.meta.url).href;
  const script = `import(${JSON.stringify(module)}).then((m) => process.stdout.write(m.processSpace()))`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  expect(stdout).toBe(processSpace());
  expect(processSpace().startsWith(hostname())).toBe(true);
  if (process.platform === 'linux') expect(processSpace()).toMatch(/ \([0-9a-f]{8}\)$/);
});
