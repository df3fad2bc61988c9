import { describe, expect, it } from 'vitest';
import { openKillableWorld, type PublishingJob } from './killed-publication.ts';

const followers = ['sync', 'publish', 'reconcile'] as const;
/** The sweep comes in parts, so that one part can be run by its name: `npm run test:slow -- killed-publication -t "part 2"`. */
const parts = [1, 2, 3, 4];
const killsMin = 60;

describe.each<PublishingJob>(['publish', 'reconcile', 'mend'])('%s may be killed', (job) => {
  it.each(parts)('at any operation on published files: nothing is taken for an attack (part %i)', async (part) => {
    const { points, assertSurvives } = await openKillableWorld();
    const all = await points(job);
    expect(all.length).toBeGreaterThan(killsMin);
    for (const [index, point] of all.entries())
      if (index % parts.length === part - 1)
        await assertSurvives(job, point, followers[Math.floor(index / parts.length) % 3] ?? 'sync');
  });
});
