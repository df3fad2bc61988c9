import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { copyRecords } from '../../src/cluster/copies.ts';
import { openWorkspace } from '../cli/workspace.ts';
import { run } from './cluster-world.ts';
import { openMachines } from './open-machines.ts';
import { hold, machineOf, openStoreWorld } from './store-world.ts';

/** A project whose machine `one` was killed: its copy, with everybody, lies on its disk. */
async function openLeftCopy() {
  const world = await openStoreWorld();
  const workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  const machines = await openMachines(workspace, world);
  const { on, startOn, folderOf, address } = machines;
  await on('one', ['sync']);
  const people = await on('one', ['query', 'SELECT uuid FROM persons LIMIT 1']);
  const [[uuid]] = z.object({ rows: z.tuple([z.tuple([z.string()])]) }).parse(people.json).rows;
  const dying = startOn('one', ['sync']);
  const note = join(folderOf('one'), 'copy.json');
  const isWhole = (): boolean => existsSync(note) && readFileSync(note, 'utf8').includes('"isWhole": true');
  while (!isWhole()) {
    expect(dying.child.exitCode).toBe(null);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  dying.child.kill('SIGKILL');
  await dying.ended;
  const loseDatabase = (): Promise<unknown> => run(address, 'DROP SCHEMA analytics_mirror CASCADE');
  /** Erases the person on a machine, as far as it goes: what the last step ended with, and the result of `copies`. */
  const erase = async (machine: string, ended: 0 | 4) => {
    await on(machine, ['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'the-test', '--keep-events']);
    await on(machine, ['reconcile'], ended);
    return result(machine);
  };
  const result = async (machine: string) => {
    const { json } = await on(machine, ['erase', 'list', '--all']);
    return JSON.stringify(json);
  };
  const certificate = async (machine: string): Promise<string> => {
    const { json } = await on(machine, ['erase', 'list', '--all']);
    const [{ id }] = z.object({ requests: z.tuple([z.object({ id: z.string() })]) }).parse(json).requests;
    return JSON.stringify((await on(machine, ['audit', 'certificate', id])).json);
  };
  return {
    ...machines,
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
    loseDatabase,
    erase,
    result,
    certificate,
  };
}

const observed = /"assurance":"observed"[^{}]*"target":"copies"|"target":"copies"[^{}]*"assurance":"observed"/;
const notVerifiable =
  /"assurance":"not_verifiable"[^{}]*"target":"copies"|"target":"copies"[^{}]*"assurance":"not_verifiable"/;

describe('a copy that a killed machine has left', { timeout: 600_000 }, () => {
  it('keeps a request open also where the database is lost, until that machine has deleted it', async () => {
    await using cluster = await openLeftCopy();
    const { on, erase, result, certificate, loseDatabase, folderOf } = cluster;
    await loseDatabase();
    expect(await erase('two', 4)).toContain('copy_elsewhere');
    await loseDatabase();
    await on('two', ['reconcile'], 4);
    await on('one', ['sync']);
    expect(existsSync(join(folderOf('one'), 'mirror.db'))).toBe(false);
    await loseDatabase();
    await on('two', ['reconcile']);
    expect(await result('two')).toMatch(/"state":"(?:certified|sealed)"/);
    expect(await certificate('two')).toMatch(observed);
    await on('two', ['audit', 'verify']);
  });

  it('is not that of a new machine of the same name; who forgets it makes certificates say so', async () => {
    await using cluster = await openLeftCopy();
    const { on, erase, certificate, loseDatabase, folderOf } = cluster;
    await loseDatabase();
    renameSync(folderOf('one'), folderOf('aside'));
    await on('one', ['sync']);
    expect(await erase('one', 4)).toContain('copy_elsewhere');
    const { json } = await on('one', ['cluster', 'list']);
    const [{ copy }] = z
      .object({ copies: z.tuple([z.object({ copy: z.string(), machine: z.literal('one') })]) })
      .parse(json).copies;
    await on('two', ['cluster', 'forget', copy]);
    await on('two', ['reconcile']);
    expect(await certificate('two')).toMatch(notVerifiable);
    await on('two', ['audit', 'verify']);
  });
});

it('a copy that was begun, and never held the project, is taken into the ledger by the next holder, and so is its end', async () => {
  const world = await openStoreWorld();
  const [one, two] = [machineOf(world, 'one'), machineOf(world, 'two')];
  await (await hold(one)).close();
  // It dies between its first byte and `taken_over`.
  const dying = machineOf(world, 'dying', { check: () => undefined });
  await expect(hold({ ...dying, ledgerSize: 99 })).rejects.toMatchObject({ code: 'storage' });
  const held = await hold(two);
  const machines = async (): Promise<string[]> =>
    (await held.state.otherCopies(held.ledger())).map(({ machine }) => machine).toSorted();
  expect(await machines()).toEqual(['dying', 'one']);
  expect((await world.everything(/copies/)).length).toBe(0);
  // It comes back: what it had begun goes, before it begins another one.
  await held.close();
  const back = await hold(dying);
  const left = [...back.ledger().copies()].map(([, { machine }]) => machine);
  expect(left.toSorted()).toEqual(['dying', 'one', 'two']);
});

it('what somebody without the key says of copies is not taken', async () => {
  const world = await openStoreWorld();
  await (await hold(machineOf(world, 'one'))).close();
  const two = await hold(machineOf(world, 'two'));
  const id = [...two.ledger().copies()].find(([, { machine }]) => machine === 'one')?.[0] ?? '';
  const Key = `cluster/one/copies/${id}.one.over`;
  await world.client.send(new PutObjectCommand({ Bucket: 'state', Key, Body: '0'.repeat(64) }));
  expect(await two.state.otherCopies(two.ledger())).toEqual([{ id, machine: 'one', isForgotten: false }]);
  await world.client.send(new DeleteObjectCommand({ Bucket: 'state', Key }));
  expect(await two.state.otherCopies(two.ledger(), [id])).toEqual([{ id, machine: 'one', isForgotten: true }]);
});

describe('what the ledger has to say of copies', () => {
  const [a, b] = [
    { id: 'a', machine: 'one' },
    { id: 'b', machine: 'two' },
  ];
  const known = new Map([['a', { machine: 'one', isForgotten: false }]]);
  it.each([
    ['nothing of what it knows', [{ ...a, what: 'begun' }], [], []],
    ['one that was begun', [{ ...b, what: 'begun' }], [], [{ type: 'copy_made', machine: 'two', copy: 'b' }]],
    [
      'nothing of one that came and went',
      [
        { ...b, what: 'begun' },
        { ...b, what: 'over' },
      ],
      [],
      [],
    ],
    ['one that is gone, forgotten or not', [{ ...a, what: 'over' }], ['a'], [{ type: 'copy_gone', copy: 'a' }]],
    ['one that is forgotten', [], ['a', 'b'], [{ type: 'copy_forgotten', copy: 'a' }]],
  ] as const)('%s', (_what, said, forgotten, records) => {
    expect(copyRecords(known, said, forgotten)).toEqual(records);
  });
});
