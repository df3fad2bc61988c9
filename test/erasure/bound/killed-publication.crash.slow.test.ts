import { expect, it } from 'vitest';
import { openKillableWorld, type PublishingJob } from './killed-publication.ts';

const followers = ['sync', 'publish', 'reconcile'] as const;

it.each<[PublishingJob, number]>([
  ['publish', 60],
  ['reconcile', 60],
  ['mend', 60],
])('%s may be killed at any operation on published files: nothing is taken for an attack', async (job, killsMin) => {
  const { points, assertSurvives } = await openKillableWorld();
  const all = await points(job);
  expect(all.length).toBeGreaterThan(killsMin);
  for (const [index, point] of all.entries()) await assertSurvives(job, point, followers[index % 3] ?? 'sync');
});
