import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { copyRecords } from '../../src/cluster/copies.ts';
import { hold, machineOf, openStoreWorld } from './store-world.ts';

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
