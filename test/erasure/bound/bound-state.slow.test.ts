import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gatherReport } from '../../../src/audit/report-data.ts';
import { readLedger } from '../../../src/ledger/ledger.ts';
import { listRequests, noteTakenEntries } from '../../../src/mirror/erasure-requests.ts';
import { runCheckpointJob } from '../../../src/worker/worker-project.ts';
import { jobContext } from '../../job/job-context.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';
import type { ErasureWorld } from '../erasure-world.ts';
import { differencesOf, placesOf, problemsOf, worldAfterErasure } from './bound-world.ts';

const recorded = ({ dataDir }: ErasureWorld, ...types: string[]) =>
  [...readLedger(dataDir).entries()].filter(({ type }) => types.includes(type));

/** Each job that mirrors or publishes refuses, and says why. */
async function expectRefused(world: ErasureWorld, why: RegExp): Promise<void> {
  expect((await differencesOf(world)).join('\n')).toMatch(why);
  expect((await problemsOf(world)).join('\n')).toMatch(why);
  await expect(world.sync()).rejects.toThrow(why);
  await expect(world.publish()).rejects.toThrow(why);
  const context = jobContext({ db: world.db(), settings: world.settings, clock: world.clock }, {});
  expect(await runCheckpointJob(context)).toMatchObject({ outcome: 'incomplete', reason: 'state_differs' });
}

describe('an older folder of published files', () => {
  it('is named, refused, and mended: the erased person is taken out again by MAC', async () => {
    const { world, putBack } = await worldAfterErasure();
    putBack(['folder']);
    expect(await placesOf(world, 'anna-canary')).not.toEqual([]);
    await expectRefused(world, /snapshots\/persons\/\S+\/manifest\.json is another one than the ledger has/);
    const result = await world.reconcile();
    expect(result).toMatchObject({ replayed: { requests: 1 }, erasure: { verified: 1 } });
    expect(result?.mended.length).toBeGreaterThan(0);
    expect(await placesOf(world, 'anna-canary')).toEqual([]);
    expect(listRequests(world.db(), 'all').map(({ generation }) => generation)).toEqual([2]);
    expect(recorded(world, 'differs', 'mended', 'reopened')).toMatchObject([
      { type: 'differs', part: 'snapshots' },
      { type: 'reopened', reason: 'restored' },
      { type: 'mended', part: 'snapshots' },
    ]);
    expect(await differencesOf(world)).toEqual([]);
    await world.syncAndPublish();
    expect(await problemsOf(world)).toEqual([]);
    expect(await placesOf(world, 'anna-canary')).toEqual([]);
  });

  it('is named where only snapshots that were retired come back', async () => {
    const { world } = await worldAfterErasure();
    const copy = join(freshFolder(), 'snapshots');
    cpSync(join(world.dataDir, 'snapshots'), copy, { recursive: true });
    for (let times = 0; times < 6; times += 1) {
      world.create([`newcomer-${times}`]);
      await world.syncAndPublish();
    }
    cpSync(copy, join(world.dataDir, 'snapshots'), { recursive: true, force: false });
    await expectRefused(world, /is not on the ledger: it was retired/);
    await world.reconcile();
    expect(await differencesOf(world)).toEqual([]);
  });
});

describe('the key of the suppression list', () => {
  it('of another folder is refused by everything, and by `reconcile` too', async () => {
    const { world } = await worldAfterErasure();
    const path = join(world.dataDir, 'keys/fence.key');
    const own = readFileSync(path);
    writeFileSync(path, `${'7'.repeat(64)}\n`);
    await expectRefused(world, /keys\/fence\.key is another key than the one of this ledger/);
    for (let times = 0; times < 2; times += 1)
      await expect(world.reconcile()).rejects.toThrow(/keys\/fence\.key is another key/);
    // Said once, however often it is found.
    expect(recorded(world, 'differs')).toHaveLength(1);
    writeFileSync(path, own);
    await world.reconcile();
    expect(recorded(world, 'differs', 'mended')).toMatchObject([{ part: 'fence_key' }, { part: 'fence_key' }]);
    await world.sync();
  });
});

describe('a suppression list', () => {
  it.each([
    ['emptied', `DELETE FROM fence`],
    ['partly emptied', `DELETE FROM fence WHERE kind = 'distinct_id'`],
    ['edited', `UPDATE fence SET mac = zeroblob(32) WHERE kind = 'person_uuid'`],
  ])('that was %s is raised again from the ledger, and keeps the person out', async (_how, sql) => {
    const { world } = await worldAfterErasure();
    const list = (): unknown => world.db().prepare(`SELECT kind, hex(mac), request_id FROM fence`).all();
    const before = list();
    world.db().exec(sql);
    await expectRefused(world, /mirror\.db, table fence: its entries of request \S+ are not those/);
    expect(await world.reconcile()).toMatchObject({ replayed: null, mended: [expect.stringMatching(/table fence/)] });
    expect(list()).toEqual(before);
    await world.sync();
    expect(await placesOf(world, 'anna-canary')).toEqual([]);
  });

  it('that was emptied together with older files is mended before the files are searched', async () => {
    const { world, putBack } = await worldAfterErasure();
    putBack(['folder']);
    world.db().exec(`DELETE FROM fence`);
    await expectRefused(world, /table fence/);
    expect(await world.reconcile()).toMatchObject({ replayed: { requests: 1 }, erasure: { verified: 1 } });
    expect(await placesOf(world, 'anna-canary')).toEqual([]);
  });
});

describe('states that were edited', () => {
  it.each([
    ['sealed', `UPDATE erasure_requests SET state = 'sealed'`],
    ['sealed, with its times', `UPDATE erasure_requests SET state = 'sealed', sealed_at = 'x', certified_at = 'x'`],
    ['cancelled', `UPDATE erasure_requests SET state = 'cancelled', cancelled_at = 'x'`],
  ])('so that an open request is %s, are taken back', async (_how, sql) => {
    const { world, uuids } = await worldAfterErasure();
    await world.request([{ kind: 'uuid', value: uuids['bert-canary'] ?? '' }]);
    world.db().exec(`${sql} WHERE sealed_at IS NULL AND verified_at IS NULL`);
    await expectRefused(world, /mirror\.db, table erasure_requests: request \S+ is \S.*; the ledger says/);
    const { settings, clock } = world;
    const report = gatherReport({ db: world.db(), settings, nowMs: clock.now() });
    expect(report.requests.at(-1)?.state).toBe('scoped');
    expect(report.state).toMatchObject([{ event: 'differs', part: 'requests', items: 1 }]);
    await world.reconcile();
    expect(await differencesOf(world)).toEqual([]);
    expect(await placesOf(world, 'bert-canary')).toEqual([]);
  });

  it('so that a request is gone, end it on the ledger, where nothing can be proved any more', async () => {
    const { world } = await worldAfterErasure();
    world.db().exec(`PRAGMA foreign_keys = OFF; DELETE FROM erasure_targets; DELETE FROM erasure_requests`);
    await expectRefused(world, /request \S+ is missing; the ledger says/);
    const result = await world.reconcile();
    expect(result?.lost).toHaveLength(1);
    expect(await differencesOf(world)).toEqual([]);
    await world.sync();
    expect(await placesOf(world, 'anna-canary')).toEqual([]);
  });
});

describe('a ledger that says nothing of files and keys', () => {
  it('is adopted by the first reconciliation, which searches all its files', async () => {
    const { world, putBack } = await worldAfterErasure();
    const path = join(world.dataDir, 'ledger/entries.jsonl');
    // With older files that nobody noticed.
    const old = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !/"type":"(publishing|published|key_bound)"/.test(line))
      .map((line, seq) => `${line.replace(/"seq":\d+/, `"seq":${seq}`)}\n`);
    writeFileSync(path, old.join(''));
    rmSync(join(world.dataDir, 'ledger/checkpoints'), { recursive: true });
    noteTakenEntries(world.db(), readLedger(world.dataDir));
    putBack(['folder']);
    expect(await differencesOf(world)).toEqual([]);
    expect(await world.reconcile()).toMatchObject({ replayed: { requests: 1 }, erasure: { verified: 1 } });
    expect(recorded(world, 'published')[0]).toMatchObject({ cause: 'adoption' });
    expect(recorded(world, 'key_bound')).toHaveLength(3);
    expect(await placesOf(world, 'anna-canary')).toEqual([]);
    putBack(['folder']);
    await expectRefused(world, /another one than the ledger has/);
  });
});
