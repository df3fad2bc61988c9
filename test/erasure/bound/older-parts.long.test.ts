import { expect, test } from 'vitest';
import { listPublishedSnapshots } from '../../../src/snapshot/published-parts.ts';
import { publishedFilesIn } from '../../../src/snapshot/published-files.ts';
import { keepCopy, openBoundWorld } from './bound-world.ts';
import { choices, playOlderParts } from './older-parts-model.ts';
import { reuseDuckDb } from '../../snapshot/one-duckdb.ts';

reuseDuckDb();

// One choice of four. The slow set takes all, at each step of the story.
test.each(choices.filter((_parts, index) => index % 4 === 1).map((parts) => ({ parts })))(
  'older $parts, put back after two erasures: nobody erased is back without a word',
  async ({ parts }) => {
    const canBeMended = !parts.includes('ledger') && !parts.includes('keys');
    const end = await playOlderParts(1, 4, parts);
    if (canBeMended) expect(end).toBe('mended');
    else expect(['refused', 'not to be told']).toContain(end);
  },
  120_000,
);

test('a mirror from before the end of both requests: they come to their end again, as soon as the events had their time', async () => {
  expect(await playOlderParts(4, 5, ['database'])).toBe('mended');
}, 60_000);

test('a mirror and files from before the newest export, beside the ledger of now: numbers go on above all published ones', async () => {
  const { world } = await openBoundWorld();
  await world.reconcile();
  await world.syncAndPublish();
  const newest = (): number =>
    Math.max(...listPublishedSnapshots(publishedFilesIn(world.dataDir)).map(({ manifest }) => manifest.seq));
  const putBack = keepCopy(world);
  for (const name of ['cid', 'dan', 'eve']) world.create([name]);
  await world.syncAndPublish();
  const published = newest();
  putBack(['database', 'folder']);
  expect(newest()).toBeLessThan(published);
  expect((await world.reconcile())?.mended.join()).toMatch(/is missing/);
  await world.publish();
  expect(newest()).toBeGreaterThan(published);
});
