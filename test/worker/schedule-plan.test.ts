import { describe, expect, it } from 'vitest';
import { compileCron } from '../../src/config/cron.ts';
import type { Run } from '../../src/mirror/runs.ts';
import {
  chooseStarts,
  dueJobs,
  historyOf,
  nextStartMs,
  noHistory,
  pauseMs,
  periodMsAt,
  type JobHistory,
} from '../../src/worker/schedule-plan.ts';

const at = (iso: string): number => Date.parse(iso);
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const daily = compileCron('0 2 * * *');
const now = at('2026-03-10T12:00:00Z');

const started = (iso: string, further: Partial<JobHistory> = {}): JobHistory => ({
  ...noHistory,
  lastStartMs: at(iso),
  lastEndMs: at(iso) + minute,
  lastOutcome: 'done',
  settledMs: at(iso),
  successMs: at(iso),
  ...further,
});
const failed = (iso: string, failures: number, further: Partial<JobHistory> = {}): JobHistory => ({
  ...started(iso),
  lastOutcome: 'failed',
  lastReason: 'unreachable',
  settledMs: at('2026-03-01T02:00:00Z'),
  failures,
  ...further,
});

describe('the next start', () => {
  it.each([
    ['the next tick, once the last one is answered', started('2026-03-10T02:00:00Z'), '2026-03-11T02:00:00Z'],
    ['also by a run that was late', started('2026-03-10T11:00:00Z'), '2026-03-11T02:00:00Z'],
    ['at once, when it never ran', noHistory, '2026-03-10T02:00:00Z'],
    ['since the first one, when ticks were missed', started('2026-03-04T02:00:00Z'), '2026-03-05T02:00:00Z'],
    [
      'at once, when a signal ended the last run',
      failed('2026-03-10T02:00:00Z', 0, { lastOutcome: 'interrupted', lastReason: 'interrupted' }),
      '2026-03-02T02:00:00Z',
    ],
    ['after a quarter of an hour, when the last run failed', failed('2026-03-10T11:55:00Z', 1), '2026-03-10T12:11:00Z'],
    ['after a pause that is over', failed('2026-03-10T02:00:00Z', 1), '2026-03-10T02:16:00Z'],
    [
      'after a longer pause, over a tick, when it failed often',
      failed('2026-03-10T01:59:00Z', 9),
      '2026-03-11T02:00:00Z',
    ],
    [
      'at once, when the machine went down for the first time',
      failed('2026-03-10T11:59:00Z', 1, { lastReason: 'died' }),
      '2026-03-02T02:00:00Z',
    ],
    [
      'after a pause, when it went down twice',
      failed('2026-03-10T11:58:00Z', 2, { lastReason: 'died' }),
      '2026-03-10T12:14:00Z',
    ],
    [
      'at once, when the clock was ahead for a run that went well',
      started('2031-01-01T00:00:00Z'),
      '2026-03-10T02:00:00Z',
    ],
    ['at once, when it was ahead for one that failed', failed('2031-01-01T00:00:00Z', 7), '2026-03-02T02:00:00Z'],
  ])('is %s', (_what, history, expected) => {
    expect(new Date(nextStartMs(history, daily, now)).toISOString()).toBe(expected.replace('Z', '.000Z'));
  });
});

it('pauses grow to a job’s own pace, and are never shorter than that of a quick one', () => {
  const pauses = (periodMs: number): number[] => [1, 2, 3, 4, 8, 50].map((n) => pauseMs(n, periodMs) / minute);
  expect(pauses(day)).toEqual([15, 30, 60, 120, 1440, 1440]);
  expect(pauses(hour)).toEqual([15, 30, 60, 60, 60, 60]);
  expect(pauses(5 * minute)).toEqual([5, 10, 20, 40, 60, 60]);
});

it('the period of uneven ticks is the longer one about now', () => {
  const weekdays = compileCron('0 2 * * 1-5');
  expect(periodMsAt(weekdays, at('2026-03-08T12:00:00Z'))).toBe(3 * day);
  expect(periodMsAt(weekdays, at('2026-03-09T12:00:00Z'))).toBe(3 * day);
  expect(periodMsAt(weekdays, at('2026-03-11T12:00:00Z'))).toBe(day);
});

it('what has waited longest for a turn goes first, and of two the one that erases people', () => {
  const planned = [
    { job: 'export', atMs: 5, servedMs: 2 },
    { job: 'head', atMs: 9, servedMs: 1 },
    { job: 'reconcile', atMs: 5, servedMs: 2 },
    { job: 'full', atMs: 11, servedMs: 0 },
  ] as const;
  expect(dueJobs(planned, 10)).toEqual(['head', 'reconcile', 'export']);
});

describe('turns', () => {
  const project = (name: string, servedMs: number, further = {}) => ({
    name,
    servedMs,
    isBusy: false,
    hasPlace: false,
    waitedMs: 0,
    due: ['head', 'full'] as const,
    ...further,
  });

  it('go to the project that has waited longest, one job each, as far as there are places', () => {
    const projects = [
      project('a', 3),
      project('b', 1),
      project('c', 2, { isBusy: true }),
      project('d', 0, { due: [] }),
    ];
    expect(chooseStarts(projects, 5).map(({ name }) => name)).toEqual(['b', 'a']);
    expect(chooseStarts(projects, 1)).toMatchObject([{ name: 'b', job: 'head' }]);
    expect(chooseStarts(projects, 0)).toEqual([]);
    // Beside a pass that gives way, no further place is needed.
    const further = [...projects, project('e', 9, { hasPlace: true })];
    expect(chooseStarts(further, 0)).toMatchObject([{ name: 'e', job: 'head' }]);
  });

  it('come to one who has waited long though there is no place, for a short job, one at a time', () => {
    const late = { waitedMs: 10 * minute, due: ['full', 'head'] };
    const projects = [project('a', 1, { waitedMs: 9 * minute }), project('b', 3, late), project('c', 2, late)];
    expect(chooseStarts(projects, 0)).toMatchObject([{ name: 'c', job: 'head' }]);
    expect(chooseStarts(projects, -1)).toEqual([]);
    expect(chooseStarts([project('d', 0, { ...late, due: ['full'] })], 0)).toEqual([]);
  });

  it('come to everybody equally often, however much some want', () => {
    const served = new Map([
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ]);
    const counts = new Map([
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ]);
    for (let time = 1; time <= 300; time += 1) {
      const waiting = [...served].map(([name, servedMs]) => project(name, servedMs));
      for (const { name } of chooseStarts(waiting, 1)) {
        served.set(name, time);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    expect([...counts.values()]).toEqual([100, 100, 100]);
  });
});

/** Runs, newest first, told by how they ended: an outcome, or an outcome and a reason. */
function runs(...endings: string[]): Run[] {
  return endings.map((ending, index) => {
    const [outcome, reason] = ending.split(' ');
    const id = endings.length - index;
    const isOpen = outcome === 'running';
    return {
      id,
      job: 'full',
      startedAt: `2026-01-${String(id).padStart(2, '0')}T00:00:00Z`,
      finishedAt: isOpen ? null : `2026-01-${String(id).padStart(2, '0')}T01:00:00Z`,
      outcome: isOpen ? null : (outcome as Run['outcome']),
      reason: reason ?? null,
      requests: 0,
      counts: null,
    };
  });
}

it.each([
  [['done'], 0, 1],
  [['failed unreachable', 'done'], 1, 1],
  [['failed refused', 'interrupted died', 'failed service', 'done', 'failed service'], 3, 2],
  [['failed busy', 'interrupted interrupted', 'failed service', 'incomplete'], 1, 1],
  [['running', 'failed service'], 2, null],
  [['interrupted interrupted'], 0, null],
  [['held', 'failed service'], 0, 2],
])('%j: failures in a row %i, settled on day %s', (endings, failures, settledDay) => {
  const history = historyOf(runs(...endings), undefined);
  expect(history.failures).toBe(failures);
  expect(history.settledMs).toBe(settledDay === null ? null : Date.UTC(2026, 0, settledDay));
});

it.each([
  [['incomplete files_damaged', 'done'], 'files_damaged'],
  [['running', 'failed storage', 'incomplete files_damaged'], 'files_damaged'],
  [['done', 'incomplete files_damaged'], null],
  [['failed storage'], null],
])('%j: the last run that did all it could found %s', (endings, reason) => {
  expect(historyOf(runs(...endings), undefined).settledReason).toBe(reason);
});

it('an errored run never counts as the last success', () => {
  const [failed, done] = runs('failed unreachable', 'done');
  expect(historyOf(failed && done ? [failed, done] : [], done)).toMatchObject({
    lastOutcome: 'failed',
    lastReason: 'unreachable',
    lastStartMs: Date.UTC(2026, 0, 2),
    successMs: Date.UTC(2026, 0, 1),
  });
});

it('nothing is known before the first run', () => {
  expect(historyOf([], undefined)).toBe(noHistory);
});
