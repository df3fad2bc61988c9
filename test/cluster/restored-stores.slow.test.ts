import { test } from 'vitest';
import { stopAll } from './cluster-workers.ts';
import { run } from './cluster-world.ts';
import { openFaultWorld } from './fault-world.ts';
import { keepBucket } from './keep-bucket.ts';

test('workers live on where Postgres comes back empty, where the bucket is one of yesterday, and where both are', async () => {
  const world = await openFaultWorld({ others: ['blog', 'club', 'desk'] });
  const { worker, until, store, address, isDone, ask, assertWhole } = world;
  // They are stopped while a store is put back, which is no time for another one to take what they hold.
  const patient = { env: { LEASE_MS: '90000' } };
  const workers = [worker('one', patient), worker('two', patient)];
  const isShared = (held: Record<string, string | null>): boolean =>
    Object.values(held).length === 4 &&
    ['one', 'two'].every((name) => Object.values(held).filter((each) => each === name).length === 2);
  const isErased = (): boolean => isDone('one') || isDone('two');
  await until('shared', (_roster, held) => isShared(held));
  /** The workers hold its tables meanwhile: where Postgres gives up the drop for them, it is done again. */
  const loseDatabase = async (): Promise<void> => {
    for (let isDropped = false; !isDropped;)
      isDropped = await run(address, 'DROP SCHEMA analytics_mirror CASCADE').then(
        () => true,
        (error: unknown) => {
          if ((error as { code?: string }).code !== '40P01') throw error;
          return false;
        },
      );
  };
  /** Nobody reads or writes the bucket meanwhile: it is of one moment. */
  const whileStopped = async <T>(act: () => Promise<T>): Promise<T> => {
    for (const { child } of workers) child.kill('SIGSTOP');
    const done = await act();
    for (const { child } of workers) child.kill('SIGCONT');
    return done;
  };
  let putBack = await whileStopped(() => keepBucket(store));
  await ask();
  await until('all is erased', isErased);
  for (const lose of ['database', 'bucket', 'both']) {
    // That of yesterday: before the erasure before this one.
    const putOlder = putBack;
    putBack = await whileStopped(() => keepBucket(store));
    if (lose !== 'database') await whileStopped(putOlder);
    if (lose !== 'bucket') await loseDatabase();
    await until(
      `shared after ${lose}`,
      ({ machines }, held) => isShared(held) && machines.filter(({ isLive }) => isLive).length === 2,
    );
    await ask();
    await until(`all is erased after ${lose}`, isErased);
  }
  await stopAll(workers);
  await assertWhole(['one', 'two']);
}, 900_000);
