import { it } from 'vitest';
import type { KillPoint } from '../../kill/kill-point.ts';
import { openKillableWorld, type PublishingJob } from './killed-publication.ts';
import { reuseDuckDb } from '../../snapshot/one-duckdb.ts';

reuseDuckDb();

/** In the order in which a job passes them; `killed-publication.crash.slow.test.ts` has all the others. */
const moments: readonly [PublishingJob, KillPoint['moment'], RegExp, 'sync' | PublishingJob][] = [
  ['publish', 'within', /^write ledger: publishing$/, 'sync'],
  ['publish', 'before', /^rename snapshots\/CURRENT\.json$/, 'publish'],
  ['reconcile', 'after', /^write ledger: publishing$/, 'reconcile'],
  ['reconcile', 'after', /^rename snapshots\/SNAPSHOT\/manifest\.json$/, 'publish'],
  ['mend', 'after', /^write ledger: differs/, 'sync'],
  ['mend', 'after', /^write ledger: reopened/, 'reconcile'],
];

it('a job that is killed between record and file leaves nothing that the next one takes for an attack', async () => {
  const { points, assertSurvives } = await openKillableWorld();
  const known = { publish: await points('publish'), reconcile: await points('reconcile'), mend: await points('mend') };
  for (const [job, moment, pattern, next] of moments) {
    const point = known[job].find((each) => each.moment === moment && pattern.test(each.operation));
    if (!point) throw new Error(`${job} never comes to ${moment} ${pattern}`);
    await assertSurvives(job, point, next);
  }
});
