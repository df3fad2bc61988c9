import { expect, it } from 'vitest';
import { openFaultWorld } from './fault-world.ts';
import { assertTakenOver, type Fate } from './killed-worker.ts';
import type { KillPoint } from '../kill/kill-point.ts';

const bucket = '/state/cluster/PROJECT';
const points: [Fate, KillPoint][] = [
  ['SIGSTOP', { operation: 'be answered DELETE /api/environments/ID/persons/ID/', nth: 1, moment: 'before' }],
  ['SIGKILL', { operation: `be answered PUT ${bucket}/state/project`, nth: 3, moment: 'before' }],
];

it('a worker is stopped after a deletion, or killed after a commit, and another one takes over', async () => {
  const world = await openFaultWorld();
  for (const [fate, point] of points) {
    const began = Date.now();
    const after = await assertTakenOver(world, point, fate);
    process.stdout.write(`${fate} ${point.operation}: ${after} s of ${(Date.now() - began) / 1000} s\n`);
    expect([fate, point, after]).toEqual([fate, point, expect.any(Number)]);
  }
}, 1_800_000);
