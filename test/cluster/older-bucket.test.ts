import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/ledger.ts';
import { hold, machineOf, openStoreWorld, type Machine, type StoreWorld } from './store-world.ts';

const Bucket = 'state';
const drill = { type: 'drill', outcome: 'passed', steps: 1, report: 'a'.repeat(64) } as const;
const older = { code: 'storage', message: /the bucket is older than what the database of the cluster knows/ };

/** All objects of a bucket as they are now. Returns what puts the bucket back to them. */
async function keep({ client }: StoreWorld): Promise<() => Promise<void>> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
  const objects = await Promise.all(
    Contents.map(async ({ Key }) => {
      const { Body, Metadata } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return { Key, Body: (await Body?.transformToByteArray()) ?? '', Metadata: Metadata ?? {} };
    }),
  );
  return async () => {
    const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
    for (const { Key, VersionId } of [...Versions, ...DeleteMarkers])
      await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
    for (const object of objects) await client.send(new PutObjectCommand({ Bucket, ...object }));
  };
}

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
  const putBack = await keep(world);
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
  const putBack = await keep(world);
  await (await hold(machine('one'))).close();
  await putBack();
  await expect(hold(machine('two'))).rejects.toMatchObject(older);
});
