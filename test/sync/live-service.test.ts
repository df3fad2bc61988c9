import { describe, expect, it } from 'vitest';
import { missingAfter, rehearse, wronglyDeleted } from './rehearse.ts';

describe('beside a service that behaves as live ones do', () => {
  it.each([1, 2, 3])(
    'misses nobody and deletes nobody wrongly while people come and go (seed %i)',
    async (seed) => {
      const here = await rehearse({ persons: 2000, seed, profile: 'live', churn: 3, faults: 'mixed' }, [
        { path: 'persons.pageSize', value: 300 },
      ]);
      for (let round = 0; round < 2; round += 1) {
        const since = here.sandbox.version();
        const pass = await here.sync();
        expect(['complete', 'incomplete']).toContain(pass.verdict);
        if (pass.verdict === 'complete') expect(missingAfter(here, since)).toBe(0);
        await here.reconcile();
        expect(wronglyDeleted(here)).toBe(0);
      }
      await here.close();
    },
  );

  it.each(['documented', 'live'] as const)(
    'ends equal to the %s service, although one answer in seven is faulty',
    async (profile) => {
      const here = await rehearse({ persons: 1500, seed: 4, profile, faults: 'mixed' }, [
        { path: 'persons.pageSize', value: 300 },
      ]);
      await here.sync();
      const [first, second, third, fourth] = [...here.sandbox.living()].map(({ uuid }) => uuid);
      if (!first || !second || !third || !fourth) throw new Error('the sandbox has too few persons');
      here.sandbox.act({ do: 'delete', uuid: first });
      here.sandbox.act({ do: 'merge', loser: second, survivor: third });
      here.sandbox.act({ do: 'split', uuid: fourth });
      here.sandbox.act({ do: 'create', distinct_ids: ['new-one'] });
      expect(await here.sync()).toMatchObject({ verdict: 'complete' });
      await here.reconcile();
      expect(await here.reconcile()).toMatchObject({ deleted: 1, merged: 1 });
      const mirrored = here.app
        .database()
        .prepare(`SELECT uuid, distinct_ids FROM persons ORDER BY uuid`)
        .all();
      const living = [...here.sandbox.living()].map(({ uuid, distinct_ids }) => ({
        uuid,
        distinct_ids: JSON.stringify(distinct_ids),
      }));
      expect(mirrored).toEqual(living.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1)));
      await here.close();
    },
  );

  it('walks a list of recordings that tells neither count nor next page', async () => {
    const here = await rehearse(
      { persons: 300, recordings: 1500, seed: 8, profile: 'live', churn: 1, faults: 'mixed' },
      [{ path: 'recordings.query', value: { date_from: '-30d' } }],
    );
    const pass = await here.sync('recordings');
    expect(pass).toMatchObject({ verdict: 'complete', rows_quarantined: 0 });
    expect(pass.rows_added).toBeGreaterThanOrEqual(1500);
    await here.close();
  });

  it('deletes nothing when lists go empty, and says what is held', async () => {
    const here = await rehearse({ persons: 300, seed: 5 });
    await here.sync();
    here.sandbox.act({ do: 'set_lists', empty: true });
    expect(await here.sync()).toMatchObject({ verdict: 'complete', rows_received: 0 });
    expect(await here.reconcile()).toMatchObject({ asked: 0, held: [{ dataset: 'persons', rows: 300 }] });
    expect(here.mirrored().size).toBe(300);
    await here.close();
  });

  it.each([
    [
      'a key that loses its scope',
      { do: 'set_scopes', key: 'KEY', scopes: ['session_recording:read'] },
      /scope/,
    ],
    ['a project that vanishes', { do: 'set_project', vanished: true }, /no such project/],
  ] as const)('deletes nothing after %s, and says so', async (_what, action, words) => {
    const here = await rehearse({ persons: 300, seed: 6 });
    await here.sync();
    const [gone] = [...here.sandbox.living()].map(({ uuid }) => uuid);
    here.sandbox.act({ do: 'delete', uuid: gone ?? '' });
    await here.sync();
    here.sandbox.act(
      action.do === 'set_scopes'
        ? { ...action, key: here.sandbox.apiKey, scopes: [...action.scopes] }
        : action,
    );
    await expect(here.reconcile()).rejects.toThrow(words);
    await expect(here.reconcile()).rejects.toThrow(words);
    await expect(here.sync()).rejects.toMatchObject({ code: 'refused' });
    expect(here.mirrored().size).toBe(300);
    await here.close();
  });

  it.each(['html', 'empty', 'garbage'] as const)(
    'takes a 200 that is %s for an error, never for an empty list',
    async (faults) => {
      const here = await rehearse({ persons: 300, seed: 7, faults, faultShare: 1 }, [
        { path: 'retry.attemptsMax', value: 2 },
      ]);
      await expect(here.sync()).rejects.toMatchObject({ code: 'service' });
      expect(here.app.database().prepare(`SELECT verdict FROM passes`).all()).toEqual([{ verdict: null }]);
      await here.close();
    },
  );
});
