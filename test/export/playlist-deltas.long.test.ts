import { expect, test } from 'vitest';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { load, mirrored, publish } from './delta-histories.ts';
import { openWorld, perform } from './exported-world.ts';

test('playlists and their recordings, loaded as documented, are the mirror after each delta', async () => {
  const world = openWorld();
  const lists = (kind: 'full' | 'delta'): Promise<string[]> =>
    publish(world, kind, world.settings, ['persons', 'recordings', 'playlists', 'playlist_recordings', 'deletions']);
  const steps: [recordings: number[], name: string, kind: string | null][] = [
    [[1, 2], 'a', 'full'],
    [[2, 3], 'a', 'delta'],
    [[2, 3], 'b', 'delta'],
    [[2, 3], 'b', null],
    [[], 'b', 'delta'],
  ];
  perform(world, { do: 'show playlist', number: 1, name: 'z', recordings: [2, 4] });
  for (const [recordings, name, kind] of steps) {
    perform(world, { do: 'show playlist', number: 2, name, recordings });
    const before = publishedFilesIn(world.dataDir).listSnapshots('playlists').length;
    const [, , published] = await lists(kind === 'full' ? 'full' : 'delta');
    if (kind !== null) expect(published).toBe(kind);
    expect(publishedFilesIn(world.dataDir).listSnapshots('playlists')).toHaveLength(before + (kind === null ? 0 : 1));
    expect(await load(world.dataDir)).toEqual(mirrored(world.db, 4));
  }
  expect((await verifySnapshots(publishedFilesIn(world.dataDir))).problems).toEqual([]);
});
