import process from 'node:process';
import { expect, it } from 'vitest';
import { killPoints, type KillPoint } from '../kill/kill-point.ts';
import { openFaultWorld } from './fault-world.ts';
import { assertTakenOver, recordWorker, type Fate } from './killed-worker.ts';

/** As many as take some minutes. Each run with another KILL_OFFSET takes others. */
const pointsEach = 11;
const offset = Number(process.env['KILL_OFFSET'] ?? 0);

/** What a thread of a worker does is not in its record. */
const ofLedger = ['send', 'be answered'].map((verb): KillPoint => ({
  operation: `${verb} PUT /state/cluster/PROJECT/ledger/NUMBER.jsonl`,
  nth: 7 + offset,
  moment: 'before',
}));

it.each<Fate>(['SIGKILL', 'SIGSTOP'])('a worker that meets %s anywhere is followed by another one', async (fate) => {
  const world = await openFaultWorld();
  const all = killPoints(await recordWorker(world)).filter(({ nth }) => nth === 1);
  const stride = all.length / pointsEach;
  const start = (fate === 'SIGKILL' ? 0.25 : 0.75) * stride + offset;
  const chosen = Array.from({ length: pointsEach }, (_, index) => all[Math.floor(start + index * stride) % all.length]);
  let struck = 0;
  for (const point of [...chosen.filter((each) => each !== undefined), ...ofLedger]) {
    const after = await assertTakenOver(world, point, fate);
    process.stdout.write(`${fate} ${point.moment} ${point.operation.slice(0, 100)}: ${after ?? 'not met'}\n`);
    if (after !== undefined) struck += 1;
  }
  // Some work is not done again in each run.
  expect(struck).toBeGreaterThan(pointsEach / 2);
});

const bucket = '/state/cluster/PROJECT';
const points: [Fate, KillPoint][] = [
  ['SIGSTOP', { operation: `send PUT ${bucket}/state/project`, nth: 3, moment: 'before' }],
  ['SIGKILL', { operation: 'send DELETE /api/environments/ID/persons/ID/', nth: 1, moment: 'before' }],
  // A certificate is issued, and the state with it is not committed.
  ['SIGKILL', { operation: 'fsync shop/reports/certificates', nth: 1, moment: 'before' }],
  ['SIGSTOP', { operation: `send PUT ${bucket}/published/persons/SNAPSHOT/PART.parquet`, nth: 1, moment: 'before' }],
];

it.each(points)('a worker meets %s where it matters: %o', async (fate, point) => {
  expect(await assertTakenOver(await openFaultWorld(), point, fate)).toEqual(expect.any(Number));
});
