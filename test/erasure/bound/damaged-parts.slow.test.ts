import { cpSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findDifferencesIn, listStandingManifests } from '../../../src/erasure/bound/differences.ts';
import { readLedger, openLedger } from '../../../src/ledger/ledger.ts';
import { listRequests } from '../../../src/mirror/erasure-requests.ts';
import { listTargets } from '../../../src/mirror/erasure-targets.ts';
import { publishedFilesIn } from '../../../src/snapshot/published-files.ts';
import { scanRequests } from '../../../src/erasure/scan/scan-requests.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';
import type { ErasureWorld } from '../erasure-world.ts';
import { differencesOf, keepCopy, placesOf, problemsOf, worldAfterErasure } from './bound-world.ts';

/** The folder of the one snapshot of persons. */
function personsFolder(root: string): string {
  const snapshots = readdirSync(join(root, 'persons')).filter((name) => /^\d/.test(name));
  return join(root, 'persons', snapshots.at(-1) ?? '');
}

const partsIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('part-'));
const stateOf = (world: ErasureWorld): (string | null)[] => listRequests(world.db(), 'all').map(({ state }) => state);

/** The part of an older generation that holds Anna, over one of the same size. */
function swapPart(world: ErasureWorld, older: string): void {
  const [from, to] = [personsFolder(older), personsFolder(join(world.dataDir, 'snapshots'))];
  const holding = partsIn(from).find((name) => !partsIn(to).includes(name)) ?? '';
  const stands = join(to, partsIn(to).at(-1) ?? '');
  const bytes = readFileSync(join(from, holding));
  const { length } = readFileSync(stands);
  // A draft of other bytes, with the times of an old file.
  writeFileSync(`${stands}.draft`, Buffer.concat([bytes, Buffer.alloc(length)]).subarray(0, length));
  utimesSync(`${stands}.draft`, new Date(0), new Date(0));
  renameSync(`${stands}.draft`, stands);
}

/** What happened to the folder, and how it is told. */
const damages: [what: string, told: RegExp, damage: (world: ErasureWorld, older: string) => void][] = [
  [
    'a part has the size of its own and the bytes of another',
    /part-\d+\.parquet has other bytes than its manifest/,
    swapPart,
  ],
  [
    'a part is missing',
    /part-\d+\.parquet is missing/,
    ({ dataDir }) => {
      const folder = personsFolder(join(dataDir, 'snapshots'));
      rmSync(join(folder, partsIn(folder)[0] ?? ''));
    },
  ],
  [
    'only an older manifest was put back',
    /manifest\.json is another one than the ledger has/,
    ({ dataDir }, older) => {
      const folder = personsFolder(join(dataDir, 'snapshots'));
      cpSync(join(personsFolder(older), 'manifest.json'), join(folder, 'manifest.json'));
    },
  ],
  [
    'a manifest is missing',
    /manifest\.json is missing/,
    ({ dataDir }) => rmSync(join(personsFolder(join(dataDir, 'snapshots')), 'manifest.json')),
  ],
  [
    'a snapshot is missing, and CURRENT names it',
    /manifest\.json is missing/,
    ({ dataDir }) => rmSync(personsFolder(join(dataDir, 'snapshots')), { recursive: true }),
  ],
];

describe('a published snapshot that is not whole', () => {
  it.each(damages)('since %s is named, refused, and deleted by reconcile', async (_what, told, damage) => {
    const { world, older, uuids } = await worldAfterErasure();
    damage(world, older);
    expect((await differencesOf(world)).join('\n')).toMatch(told);
    expect((await problemsOf(world)).join('\n')).toMatch(told);
    await expect(world.sync()).rejects.toThrow(told);
    await expect(world.publish()).rejects.toThrow(told);
    await world.request([{ kind: 'uuid', value: uuids['bert-canary'] ?? '' }]).catch(() => undefined);
    expect((await world.reconcile())?.mended.join('\n')).toMatch(told);
    expect(await differencesOf(world)).toEqual([]);
    expect(await problemsOf(world)).toEqual([]);
    expect(await placesOf(world, 'anna-canary')).toEqual([]);
    // Whole snapshots follow, deltas too.
    for (let times = 0; times < 3; times += 1) await world.publish();
    expect(await problemsOf(world)).toEqual([]);
    await world.request([{ kind: 'uuid', value: uuids['bert-canary'] ?? '' }]);
    await world.reconcile();
    expect(await placesOf(world, 'bert-canary')).toEqual([]);
    expect(await problemsOf(world)).toEqual([]);
  });
});

describe('a folder of snapshots that is a symbolic link', () => {
  it('is held against the ledger as any other', async () => {
    const { world, older } = await worldAfterErasure();
    const folder = join(world.dataDir, 'snapshots');
    const elsewhere = join(freshFolder(), 'elsewhere');
    renameSync(folder, elsewhere);
    symlinkSync(elsewhere, folder);
    expect(await differencesOf(world)).toEqual([]);
    rmSync(folder);
    symlinkSync(older, folder);
    await expect(world.sync()).rejects.toThrow(/manifest\.json is another one than the ledger has/);
    await world.reconcile();
    expect(await placesOf(world, 'anna-canary')).toEqual([]);
    expect(await problemsOf(world)).toEqual([]);
  });
});

describe('CURRENT.json of another project', () => {
  it('is named, and the next export writes it anew', async () => {
    const { world } = await worldAfterErasure();
    const path = join(world.dataDir, 'snapshots/CURRENT.json');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/2026(?=\d{4}T)/g, '2025'));
    expect((await problemsOf(world)).join('\n')).toMatch(/snapshots\/persons\/2025\S+\/manifest\.json cannot be read/);
    // A delta has nothing to continue: it becomes a full snapshot.
    await world.publish();
    expect(await problemsOf(world)).toEqual([]);
  });
});

describe('a copy of the data folder on another machine, where both publish', () => {
  it('is told by the snapshots that come from there', async () => {
    const { world } = await worldAfterErasure();
    const putBack = keepCopy(world);
    await world.publish();
    const theirs = join(freshFolder(), 'theirs');
    cpSync(join(world.dataDir, 'snapshots'), theirs, { recursive: true });
    putBack(['folder', 'database', 'keys', 'ledger']);
    await world.publish();
    cpSync(theirs, join(world.dataDir, 'snapshots'), { recursive: true });
    await expect(world.sync()).rejects.toThrow(/is not on the ledger: it was retired, or comes from another folder/);
    await world.reconcile();
    expect(await differencesOf(world)).toEqual([]);
    await world.publish();
    expect(await problemsOf(world)).toEqual([]);
  });
});

describe('a request whose deletion waits for the service', () => {
  it('waits on where only older files were put back: the answer of the service is not lost', async () => {
    const { world, putBack } = await worldAfterErasure();
    expect(stateOf(world)).toEqual(['awaiting_upstream']);
    putBack(['folder']);
    expect(await world.reconcile()).toMatchObject({ replayed: { requests: 1 } });
    expect(stateOf(world)).toEqual(['awaiting_upstream']);
    world.pass(14);
    await world.reconcile();
    const { request, targets } = [...readLedger(world.dataDir).histories.all()][0] ?? {};
    expect(targets?.get('upstream.person')).toMatchObject({ result: 'deleted' });
    expect(listTargets(world.db(), request ?? '').filter(({ status }) => status !== 'done')).toEqual([]);
  });

  it('is not ended by a result that somebody wrote into the mirror', async () => {
    const { world } = await worldAfterErasure();
    world.db()
      .exec(`UPDATE erasure_targets SET status = 'done', result = 'confirmed', assurance = 'asserted_by_upstream'
        WHERE target = 'upstream.events'`);
    const told = /request \S+ has done something about upstream\.events that the ledger does not have/;
    expect((await differencesOf(world)).join('\n')).toMatch(told);
    await expect(world.sync()).rejects.toThrow(told);
    await world.reconcile();
    expect(await differencesOf(world)).toEqual([]);
    const [history] = readLedger(world.dataDir).histories.all();
    expect(history?.targets.get('upstream.events')?.result).not.toBe('confirmed');
  });

  it('is sent anew where only the mirror knows that it was sent: the ledger may be an older copy', async () => {
    const { world } = await worldAfterErasure();
    world.db().exec(`UPDATE erasure_targets SET status = 'waiting', result = NULL, assurance = NULL, attempts = 1
        WHERE target = 'upstream.person'`);
    const told = /request \S+ has done something about upstream\.person that the ledger does not have/;
    expect((await differencesOf(world)).join('\n')).toMatch(told);
    await world.reconcile();
    world.pass(14);
    await world.reconcile();
    expect(await problemsOf(world)).toEqual([]);
  });

  it('that only the mirror has is not mended: the ledger has to come back', async () => {
    const { world, uuids } = await worldAfterErasure();
    const putBack = keepCopy(world);
    await world.request([{ kind: 'uuid', value: uuids['bert-canary'] ?? '' }]);
    putBack(['ledger']);
    const refused = expect.objectContaining({
      message: expect.stringMatching(/the ledger is older than mirror\.db/),
      hint: expect.stringMatching(/^restore ledger\//),
    });
    await expect(world.sync()).rejects.toEqual(refused);
    await expect(world.reconcile()).rejects.toEqual(refused);
  });
});

it('what an export publishes while the folder is looked at is no difference', async () => {
  const { world } = await worldAfterErasure();
  const [before, after] = [join(world.dataDir, 'before'), join(world.dataDir, 'after')];
  const folder = join(world.dataDir, 'ledger');
  const replaceLedger = (other: string): void => {
    rmSync(folder, { recursive: true });
    cpSync(other, folder, { recursive: true });
  };
  cpSync(folder, before, { recursive: true });
  await world.publish();
  cpSync(folder, after, { recursive: true });
  // The ledger is read before the export has written its records, and the disk after it.
  replaceLedger(before);
  const db = new Proxy(world.db(), {
    get: (target, name) => {
      replaceLedger(after);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  expect(await findDifferencesIn(world.dataDir, db)).toEqual([]);
});

it('a person who was sealed and is found in files only is named by them, and erased again', async () => {
  const { world, putBack } = await worldAfterErasure();
  world.pass(14);
  await world.reconcile();
  expect(stateOf(world)).toEqual(['sealed']);
  putBack(['folder']);
  // As a version would have done it that did not search what it adopts.
  const snapshots = listStandingManifests(publishedFilesIn(world.dataDir));
  openLedger(world.dataDir, world.clock).append([{ type: 'published', cause: 'repair', snapshots }]);
  // A folder elsewhere, named from where the program runs, excuses none of the same name in the data folder.
  expect((await world.erase((job) => scanRequests(job, [], ['snapshots']))).reopened).toHaveLength(1);
  expect(stateOf(world)).toEqual(['attention']);
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
  expect(await placesOf(world, 'anna-canary')).toEqual([]);
  expect(await problemsOf(world)).toEqual([]);
});
