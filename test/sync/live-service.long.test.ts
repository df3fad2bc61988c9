import { describe, expect, it } from 'vitest';
import { missingAfter, openSyncWorld, wronglyDeleted } from './sync-world.ts';

describe('beside a service that behaves as live ones do', () => {
  it.each([1, 2, 3])('misses nobody and deletes nobody wrongly while people come and go (seed %i)', async (seed) => {
    const world = await openSyncWorld({ persons: 2000, seed, profile: 'live', churn: 3, faults: 'mixed' }, [
      { path: 'persons.pageSize', value: 300 },
    ]);
    for (let round = 0; round < 2; round += 1) {
      const since = world.sandbox.version();
      const pass = await world.sync();
      expect(['complete', 'incomplete']).toContain(pass.verdict);
      if (pass.verdict === 'complete') expect(missingAfter(world, since)).toBe(0);
      await world.reconcile();
      expect(wronglyDeleted(world)).toBe(0);
    }
    await world.close();
  });

  it.each(['documented', 'live'] as const)(
    'ends equal to the %s service, although one answer in seven is faulty',
    async (profile) => {
      const world = await openSyncWorld({ persons: 1500, seed: 4, profile, faults: 'mixed' }, [
        { path: 'persons.pageSize', value: 300 },
      ]);
      await world.sync();
      const [first, second, third, fourth] = [...world.sandbox.living()].map(({ uuid }) => uuid);
      if (!first || !second || !third || !fourth) throw new Error('the sandbox has too few persons');
      world.sandbox.act({ do: 'delete', uuid: first });
      world.sandbox.act({ do: 'merge', loser: second, survivor: third });
      world.sandbox.act({ do: 'split', uuid: fourth });
      world.sandbox.act({ do: 'create', distinct_ids: ['new-one'] });
      expect(await world.sync()).toMatchObject({ verdict: 'complete' });
      await world.reconcile();
      expect(await world.reconcile()).toMatchObject({ deleted: 1, merged: 1 });
      const mirrored = world.app.database().prepare(`SELECT uuid, distinct_ids FROM persons ORDER BY uuid`).all();
      const living = [...world.sandbox.living()].map(({ uuid, distinct_ids }) => ({
        uuid,
        distinct_ids: JSON.stringify(distinct_ids),
      }));
      expect(mirrored).toEqual(living.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1)));
      await world.close();
    },
  );

  it('walks a list of recordings that tells neither count nor next page', async () => {
    const world = await openSyncWorld(
      { persons: 300, recordings: 1500, seed: 8, profile: 'live', churn: 1, faults: 'mixed' },
      [{ path: 'recordings.query', value: { date_from: '-30d' } }],
    );
    const pass = await world.sync('recordings');
    expect(pass).toMatchObject({ verdict: 'complete', rowsQuarantined: 0 });
    expect(pass.rowsAdded).toBeGreaterThanOrEqual(1500);
    await world.close();
  });

  it('deletes nothing when lists go empty, and says what is held', async () => {
    const world = await openSyncWorld({ persons: 300, seed: 5 });
    await world.sync();
    world.sandbox.act({ do: 'set_lists', empty: true });
    expect(await world.sync()).toMatchObject({ verdict: 'complete', rowsReceived: 0 });
    expect(await world.reconcile()).toMatchObject({ asked: 0, held: [{ dataset: 'persons', rows: 300 }] });
    expect(world.mirrored().size).toBe(300);
    await world.close();
  });

  it.each([
    [
      'a key that loses its scope',
      { do: 'set_scopes', key: 'KEY', scopes: ['session_recording:read'] },
      /permission_denied, person:read/,
    ],
    ['a project that vanishes', { do: 'set_project', vanished: true }, /no such project/],
  ] as const)('deletes nothing after %s, and says so', async (_what, action, words) => {
    const world = await openSyncWorld({ persons: 300, seed: 6 });
    await world.sync();
    const [gone] = [...world.sandbox.living()].map(({ uuid }) => uuid);
    world.sandbox.act({ do: 'delete', uuid: gone ?? '' });
    await world.sync();
    world.sandbox.act(
      action.do === 'set_scopes' ? { ...action, key: world.sandbox.apiKey, scopes: [...action.scopes] } : action,
    );
    await expect(world.reconcile()).rejects.toThrow(words);
    await expect(world.reconcile()).rejects.toThrow(words);
    await expect(world.sync()).rejects.toMatchObject({ code: 'refused' });
    expect(world.mirrored().size).toBe(300);
    await world.close();
  });

  it.each(['html', 'empty', 'garbage'] as const)(
    'takes a 200 that is %s for an error, never for an empty list',
    async (faults) => {
      const world = await openSyncWorld({ persons: 300, seed: 7, faults, faultShare: 1 }, [
        { path: 'retry.attemptsMax', value: 2 },
      ]);
      await expect(world.sync()).rejects.toMatchObject({ code: 'service' });
      expect(world.app.database().prepare(`SELECT verdict FROM passes`).all()).toEqual([{ verdict: null }]);
      await world.close();
    },
  );
});
