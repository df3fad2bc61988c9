import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect, test } from 'vitest';
import { verifyReports } from '../../src/audit/verify-reports.ts';
import { sha256 } from '../../src/core/digest.ts';
import { drillFile } from '../../src/job/left-drills.ts';
import { runJob } from '../../src/job/run-job.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { settingsWith } from '../config/settings-with.ts';
import { tickingClock } from '../ledger/ledger-fixture.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { jobContext } from './job-context.ts';

const day = (date: number): string => `2026-01-0${date}T12:00:00.000Z`;
const textOf = (startedAt: string): string => `${JSON.stringify({ startedAt, outcome: 'passed' }, null, 2)}\n`;

/** A data folder with a drill of January 2, on the ledger since a second later. */
function drilled() {
  const { db, dataDir } = openTestMirror();
  const ledger = openLedger(dataDir, tickingClock(Date.parse(day(2))));
  /** Files a report as a drill does that is killed before its entry. Returns its name. */
  const leave = (startedAt: string, text = textOf(startedAt)): string => {
    const file = drillFile(dataDir, startedAt);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return basename(file);
  };
  const recorded = leave(day(2));
  ledger.append([{ type: 'drill', outcome: 'passed', steps: 1, report: sha256(textOf(day(2))) }]);
  const context = jobContext({ db, settings: settingsWith({ dataDir }), clock: tickingClock(Date.parse(day(9))) }, {});
  return {
    leave,
    recorded,
    folder: dirname(drillFile(dataDir, '')),
    run: () => runJob(context, 'sync', () => Promise.resolve({ outcome: 'done', counts: {} })),
    problems: () => verifyReports(dataDir, openLedger(dataDir, tickingClock()).entries()).problems,
  };
}

test('a drill that is killed between its report and its entry is no problem from the next run on', async () => {
  const { leave, recorded, folder, run, problems } = drilled();
  const left = leave(day(3));
  expect(problems()).toEqual([
    expect.stringMatching(`^reports/drills/${left}: .* left by a killed one until the next run$`),
  ]);
  await run();
  expect(readdirSync(folder)).toEqual([recorded]);
  expect(problems()).toEqual([]);
});

test.for<[string, (leave: (startedAt: string, text?: string) => string) => unknown, number]>([
  ['a report that was changed', (leave) => leave(day(2), textOf(day(2)).replace('passed', 'failed')), 2],
  ['a report that was given another time', (leave) => leave(day(2), textOf(day(3))), 2],
  ['a file that no drill wrote', (leave) => leave(day(3), '{}'), 1],
  ['a report from before the last drill', (leave) => leave(day(1)), 1],
  ['reports of which the entries were taken away', (leave) => [leave(day(3)), leave(day(4))], 2],
])('%s stays to be told, whatever runs', async ([, harm, told]) => {
  const { leave, folder, run, problems } = drilled();
  harm(leave);
  const [before, names] = [problems(), readdirSync(folder)];
  expect(before).toHaveLength(told);
  await run();
  expect(problems()).toEqual(before);
  expect(readdirSync(folder)).toEqual(names);
});
