import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endOvertaken } from '../../src/cluster/held-project.ts';
import { localCopyOf, noteLocalCopy } from '../../src/cluster/local-copy.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { keepBucket } from './keep-bucket.ts';
import { hold, machineOf, openStoreWorld, type Machine } from './store-world.ts';

const drill = { type: 'drill', outcome: 'passed', steps: 1, report: 'a'.repeat(64) } as const;
const older = {
  code: 'storage',
  message: expect.stringMatching(/the bucket is older than what the database of the cluster knows/) as string,
};
const forgetful = {
  code: 'storage',
  message: expect.stringMatching(/knows less of the project than the copy of this machine/) as string,
};

/** Machines of one cluster, whose database knows the length of the ledger. */
async function openCluster() {
  const world = await openStoreWorld();
  let known = 0;
  const machine = (name: string): Machine =>
    machineOf(world, name, {
      get ledgerSize() {
        return known;
      },
      noteLedgerSize: (size) => Promise.resolve(void (known = size)),
    });
  return { world, machine, forget: () => void (known = 0), known: () => known };
}

it('a bucket that was put back as a whole is refused, and left as it is; an empty database takes it', async () => {
  const { world, machine, forget, known } = await openCluster();
  const first = machine('one');
  const a = await hold(first);
  const putBack = await keepBucket(world);
  await a.close();
  const b = await hold(machine('two'));
  b.ledger().append([drill]);
  await b.state.commit(b.db);
  await b.close();
  expect(known()).toBe(3);
  await putBack();
  // What is put to see what the store refuses is nobody's state.
  const keys = async (): Promise<string[]> =>
    (await world.everything()).map(({ key }) => key).filter((key) => !/\/(?:probe$|copies\/)/.test(key));
  const before = await keys();
  // One without a copy, and the one whose copy is that of the older time.
  await expect(hold(machine('three'))).rejects.toMatchObject(older);
  await expect(hold({ ...first, ledgerSize: known() })).rejects.toMatchObject(older);
  expect(await keys()).toEqual(before);
  forget();
  const fourth = machine('four');
  await hold(fourth);
  // It says of the third machine that it had begun a copy.
  expect(readLedger(fourth.dataDir).size()).toBe(3);
});

it('an empty bucket is not taken for a new project where the database knows an older one', async () => {
  const { world, machine } = await openCluster();
  const putBack = await keepBucket(world);
  await (await hold(machine('one'))).close();
  await putBack();
  await expect(hold(machine('two'))).rejects.toMatchObject(older);
});

it.each(['older', 'lost'])(
  'a state that is %s is refused, although all entries of the ledger stand behind it',
  async (how) => {
    const { world, machine } = await openCluster();
    const putBack = how === 'lost' ? await keepBucket(world, /\/state\/project$/) : undefined;
    const a = await hold(machine('one'));
    const putOlder = await keepBucket(world, /\/state\/project$/);
    a.ledger().append([drill]);
    await a.state.commit(a.db);
    await a.close();
    await (putBack ?? putOlder)();
    await expect(hold(machine('two'))).rejects.toMatchObject(older);
  },
);

it('a copy that was fetched before another commit is put over nothing', async () => {
  const { world, machine } = await openCluster();
  const one = machine('one');
  const a = await hold(one);
  const standing = await world.everything(/\/state\/project$/);
  // What it has fetched is not what stands there now, and it has put nothing there itself.
  noteLocalCopy(one.dataDir, { ...localCopyOf(one.dataDir), commits: ['one 1 fetched'], committedAt: null });
  await expect(a.state.commit(a.db)).rejects.toMatchObject({ code: 'busy', finding: 'taken_over' });
  expect(await world.everything(/\/state\/project$/)).toEqual(standing);
});

describe('a bucket of yesterday, under a holder that has all of today', () => {
  /** A machine that holds the project, with an entry that the bucket has lost. */
  async function openYesterday() {
    const { world, machine, forget } = await openCluster();
    const one = machine('one');
    const a = await hold(one);
    const putBack = await keepBucket(world);
    a.ledger().append([drill]);
    await a.state.commit(a.db);
    await putBack();
    const words = (dataDir: string): string[] => [...readLedger(dataDir).entries()].map(({ type }) => type);
    return { world, machine, forget, one, a, words };
  }

  it.each(['goes on', 'starts again'])('is brought up to it when that %s', async (how) => {
    const { machine, one, a, words } = await openYesterday();
    if (how === 'goes on') a.ledger().append([drill]);
    else await a.close();
    const held = how === 'goes on' ? a : await hold(one);
    await held.state.commit(held.db);
    await held.close();
    const two = machine('two');
    await hold(two);
    const drills = how === 'goes on' ? ['drill', 'drill'] : ['drill'];
    expect(words(two.dataDir)).toEqual(['taken_over', ...drills, 'taken_over']);
  });

  it('costs no copy where the machine has another name since: it is refused, and goes on under the former one', async () => {
    const { machine, one, a, words } = await openYesterday();
    await a.close();
    const renamed = { ...one, holder: { machine: 'renamed', token: 2 } };
    await expect(hold(renamed)).rejects.toMatchObject(forgetful);
    expect(words(one.dataDir)).toEqual(['taken_over', 'drill']);
    const again = await hold(one);
    await expect(hold(renamed)).rejects.toMatchObject(forgetful);
    await again.state.commit(again.db);
    await again.close();
    await (await hold(renamed)).close();
    const two = machine('two');
    await hold(two);
    expect(words(two.dataDir).filter((type) => type === 'drill')).toEqual(['drill']);
  });

  it('stays where another machine has taken it over: the newer copy ends with busy, and is not deleted', async () => {
    const { machine, forget, one, a } = await openYesterday();
    forget();
    await (await hold(machine('two'))).close();
    await expect(endOvertaken(one, one)).rejects.toMatchObject(forgetful);
    await expect(hold(one)).rejects.toMatchObject(forgetful);
    await expect(a.state.commit(a.db)).rejects.toMatchObject({ code: 'busy' });
  });
});

it('a copy that another machine has overtaken is deleted, and said to be gone', async () => {
  const { world, machine } = await openCluster();
  const one = machine('one');
  await (await hold(one)).close();
  const two = await hold(machine('two'));
  await endOvertaken(one, one);
  expect(existsSync(join(one.dataDir, 'copy.json'))).toBe(false);
  expect(await two.state.otherCopies(two.ledger())).toEqual([]);
  expect(await world.everything(/copies/)).toEqual([]);
});
