import { expect, test } from 'vitest';
import type { PassPlan } from '../../src/status/cost-forecast.ts';
import { jsonOf } from './run-cli.ts';
import { openWorkspace } from './workspace.ts';

const windows = ['--set', 'budget.windows=[{requests: 40, perSeconds: 3600}]'];

test('plan forecasts what passes cost, after what other commands have used', async () => {
  await using workspace = await openWorkspace({ persons: 320, recordings: 30 });
  const args = ['--json', ...windows, '--set', 'persons.pageSize=100', '--set', 'persons.overlap=10'];
  const first = jsonOf(await workspace.run(['plan', ...args])) as PassPlan;
  // No mirror yet: the two requests of the plan itself are all that it knows of.
  expect(first.requestsLeft).toBe(38);
  expect(first.passes.map(({ dataset, rows, rowsFrom, requests }) => [dataset, rows, rowsFrom, requests])).toEqual([
    ['persons', 320, 'service', 5],
    ['recordings', 30, 'service', 1],
    ['playlists', 0, 'settings', 0],
  ]);
  const synced = await workspace.run(['sync', ...args]);
  expect(synced.code).toBe(0);
  // Six requests of the pass before, two of this one.
  const second = jsonOf(await workspace.run(['plan', ...args])) as PassPlan;
  expect(second.requestsLeft).toBe(32);
  const called = await workspace.run(['call', 'persons.list', '--param', 'limit=1', ...args]);
  expect(called.code).toBe(0);
  const third = jsonOf(await workspace.run(['plan', ...args])) as PassPlan;
  expect(third.requestsLeft).toBe(29);
});

test('plan is a table for people', async () => {
  await using workspace = await openWorkspace({ persons: 320, recordings: 30 });
  const { code, stdout } = await workspace.run(['plan', ...windows]);
  expect(code).toBe(0);
  expect(stdout.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'TIME'))
    .toBe(`full pass   rows  count from    requests  takes at least  ends
persons      320  the service          1             0 s  TIME UTC
recordings    30  the service          1             0 s  TIME UTC
playlists      0  the settings         0             0 s  TIME UTC
all                                    2             0 s  TIME UTC

38 requests may go now; lists that change while they are walked cost more.
`);
});
