import process from 'node:process';
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  PutBucketVersioningCommand,
  S3Client,
  type ObjectVersion,
} from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';
import type { Destination } from '../../src/bucket/bucket.ts';
import { openProjectState, type ProjectState, type StateSetup } from '../../src/cluster/project-state.ts';
import { systemClock } from '../../src/core/clock.ts';
import { openDatabase, type Database } from '../../src/mirror/database.ts';
import { openLedger, type Ledger } from '../../src/ledger/ledger.ts';
import { startStore, storeKeys } from '../bucket/real-store.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

/** A store with one versioned bucket, and a look at all that is in it. */
export type StoreWorld = {
  place: Destination;
  client: S3Client;
  pid: number;
  /** Every version of every object whose key matches, marker or not, with its bytes where it has some. */
  everything: (only?: RegExp) => Promise<{ key: string; bytes: Buffer; isLatest: boolean }[]>;
};

/** Starts a real store for one test. `.ci/cluster` builds it. */
export async function openStoreWorld(): Promise<StoreWorld> {
  Object.assign(process.env, storeKeys);
  const store = await startStore(freshFolder());
  onTestFinished(store.stop);
  const client = new S3Client({ endpoint: store.url, region: 'us-east-1', forcePathStyle: true });
  onTestFinished(() => client.destroy());
  await client.send(new CreateBucketCommand({ Bucket: 'state' }));
  await client.send(
    new PutBucketVersioningCommand({ Bucket: 'state', VersioningConfiguration: { Status: 'Enabled' } }),
  );
  return {
    place: { location: 's3://state/cluster/one', endpoint: store.url, region: 'us-east-1', forcePathStyle: true },
    client,
    pid: store.pid,
    everything: async (only = /./) => {
      const found: ObjectVersion[] = [];
      for (let from: { KeyMarker?: string; VersionIdMarker?: string } | undefined = {}; from;) {
        const page: ListObjectVersionsCommandOutput = await client.send(
          new ListObjectVersionsCommand({ Bucket: 'state', ...from }),
        );
        found.push(...(page.Versions ?? []).filter(({ Key = '' }) => only.test(Key)));
        from = page.IsTruncated
          ? { KeyMarker: page.NextKeyMarker ?? '', VersionIdMarker: page.NextVersionIdMarker ?? '' }
          : undefined;
      }
      // versitygw begins each further page with the last entry of the page before.
      const once = new Map(found.map((each) => [`${each.Key} ${each.VersionId}`, each]));
      return Promise.all(
        [...once.values()].map(async ({ Key = '', VersionId, IsLatest = false }) => {
          const { Body } = await client.send(
            new GetObjectCommand({ Bucket: 'state', Key, ...(VersionId === undefined ? {} : { VersionId }) }),
          );
          return { key: Key, bytes: Buffer.from((await Body?.transformToByteArray()) ?? []), isLatest: IsLatest };
        }),
      );
    },
  };
}

/** The key of the cluster in tests. */
export const clusterKey = Buffer.alloc(32, 7);

/** A machine of a test: a folder of its own, its name, and when it loses the project. */
export type Machine = StateSetup & { lose: () => void };

/** A machine with an empty folder. */
export function machineOf(world: Pick<StoreWorld, 'place'>, name: string, more: Partial<StateSetup> = {}): Machine {
  const lost = new AbortController();
  return {
    place: world.place,
    key: clusterKey,
    dataDir: freshFolder(),
    holder: { machine: name, token: 1 },
    clock: systemClock,
    retry: { attemptsMax: 2, totalMs: 2_000, delayBaseMs: 50, delayMaxMs: 100, retryAfterMaxMs: 100 },
    signal: lost.signal,
    signers: () => [],
    check: () => lost.signal.throwIfAborted(),
    ledgerSize: 0,
    noteLedgerSize: () => Promise.resolve(),
    lose: () => lost.abort(new Error('lost')),
    ...more,
  };
}

/** A project that a machine holds. */
export type Held = { state: ProjectState; db: Database; ledger: () => Ledger; close: () => Promise<void> };

/** Opens the state on a machine, with its mirror. */
export async function hold(machine: Machine): Promise<Held> {
  const state = await openProjectState(machine);
  const db = openDatabase(machine.dataDir, machine.clock);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    db.close();
    await state.close();
  };
  onTestFinished(close);
  const ledger = (): Ledger => state.checked(openLedger(machine.dataDir, machine.clock, [], state.store));
  return { state, db, ledger, close };
}

const remembering = 'CREATE TABLE IF NOT EXISTS remembered (what TEXT) STRICT';

/** Writes a text into the mirror of a held project, where it is to be found again. */
export function remember({ db }: Held, what: string): void {
  db.exec(remembering);
  db.prepare('INSERT INTO remembered VALUES (?)').run(what);
}

/** The texts that the mirror of a held project has so. */
export function remembered({ db }: Held): unknown[] {
  db.exec(remembering);
  return db.prepare('SELECT what FROM remembered ORDER BY rowid').pluck().all();
}
