import { expect, test } from 'vitest';
import { compileCron } from '../../src/config/cron.ts';

const at = (iso: string): number => Date.parse(iso);
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

test.for([
  ['*/15 * * * *', '2026-03-01T00:07:30Z', '2026-03-01T00:00:00Z', '2026-03-01T00:15:00Z'],
  ['0 2 * * *', '2026-03-01T02:00:00Z', '2026-03-01T02:00:00Z', '2026-03-02T02:00:00Z'],
  ['0 2 * * *', '2026-03-01T01:59:59Z', '2026-02-28T02:00:00Z', '2026-03-01T02:00:00Z'],
  ['30 5 * * 0', '2026-03-04T00:00:00Z', '2026-03-01T05:30:00Z', '2026-03-08T05:30:00Z'],
  ['0 0 29 2 *', '2026-03-04T00:00:00Z', '2024-02-29T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['0 0 L * *', '2026-03-04T00:00:00Z', '2026-02-28T00:00:00Z', '2026-03-31T00:00:00Z'],
  ['0 0 2-31,L * *', '2026-03-01T12:00:00Z', '2026-02-28T00:00:00Z', '2026-03-02T00:00:00Z'],
  ['0 9-17 * * 1-5', '2026-03-07T12:00:00Z', '2026-03-06T17:00:00Z', '2026-03-09T09:00:00Z'],
  // One of both kinds of days is enough.
  ['0 2 1 * 1', '2026-03-04T00:00:00Z', '2026-03-02T02:00:00Z', '2026-03-09T02:00:00Z'],
  ['0 0 2 1 * 1', '2026-03-31T00:00:00Z', '2026-03-30T02:00:00Z', '2026-04-01T02:00:00Z'],
  ['0 2 */2 * 1', '2026-03-04T00:00:00Z', '2026-02-23T02:00:00Z', '2026-03-09T02:00:00Z'],
  ['0 2 1 * ?', '2026-03-04T00:00:00Z', '2026-03-01T02:00:00Z', '2026-04-01T02:00:00Z'],
  ['10 * * * * *', '2026-03-07T12:00:09Z', '2026-03-07T11:59:10Z', '2026-03-07T12:00:10Z'],
] as const)('%s around %s', ([expression, now, last, next]) => {
  const ticks = compileCron(expression);
  expect([iso(ticks.atOrBefore(at(now))), iso(ticks.after(at(now)))]).toEqual([last, next]);
});

test('the ticks of a year are the same from both sides', () => {
  const ticks = compileCron('7 */6 1-20/3 * *');
  const forth: number[] = [];
  for (let time = ticks.after(at('2026-01-01T00:00:00Z')); time < at('2027-01-01T00:00:00Z'); time = ticks.after(time))
    forth.push(time);
  const back: number[] = [];
  for (
    let time = ticks.atOrBefore(at('2026-12-31T23:59:59Z'));
    time > at('2026-01-01T00:00:00Z');
    time = ticks.atOrBefore(time - 1)
  )
    back.push(time);
  expect(forth).toHaveLength(12 * 7 * 4);
  expect(back.toReversed()).toEqual(forth);
});

test.for(['', 'often', '* * * *', '60 * * * *', '0 0 31 2 *', '* * * * * * *'])('%j is none', (expression) => {
  expect(() => compileCron(expression)).toThrow(/./);
});
