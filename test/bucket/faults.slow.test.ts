import { describe, expect, it } from 'vitest';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { expectEqual, expectReadable, follow, freshScene, publishDistinct } from './follow-world.ts';

const faults = [
  'cut before',
  'cut after',
  [500, 'InternalError'],
  [503, 'SlowDown'],
  [412, 'PreconditionFailed'],
  [403, 'AccessDenied'],
] as const;

const requestsMax = 400;

/**
 * A bucket that has followed, with an old version, a marker and an unfinished upload; and a folder that has published anew
 * since, and retired the snapshot before.
 */
async function openScene(isVersioned: boolean) {
  const { model, dataDir, bucket } = await freshScene(['a', 'b', 'c'], { isVersioned });
  await follow(dataDir, bucket);
  const published = publishedFilesIn(dataDir);
  const [first] = published.listSnapshots('distinct_ids');
  const key = `mirror/distinct_ids/${first?.id}/part-00001.parquet`;
  const bytes = Buffer.from('bytes of a person, in a version of their own');
  const older = { publisher: undefined, until: 0, at: 0 };
  if (isVersioned)
    model.versions.get(key)?.unshift({ id: 'older', bytes, ...older }, { id: 'marker', bytes: null, ...older });
  model.uploads.push({ key, id: 'left over' });
  await publishDistinct(dataDir, ['b', 'd']);
  published.removeSnapshots('distinct_ids', [first?.id ?? '']);
  const before = {
    versions: new Map([...model.versions].map(([name, all]) => [name, [...all]])),
    uploads: [...model.uploads],
  };
  const reset = (): void => {
    model.versions = new Map([...before.versions].map(([name, all]) => [name, [...all]]));
    model.uploads = [...before.uploads];
    model.asked.length = 0;
    model.fault = () => undefined;
  };
  return { model, dataDir, bucket, reset };
}

describe.each([true, false])('a failure at any request, where the bucket has versions: %s', (isVersioned) => {
  it.each(faults.map((fault) => [String(fault), fault] as const))(
    '%s: readers read on, and the next run makes all equal',
    async (_name, fault) => {
      const { model, dataDir, bucket, reset } = await openScene(isVersioned);
      let failed = 0;
      for (let at = 0; at < requestsMax; at += 1) {
        reset();
        model.fault = (index) => (index === at ? fault : undefined);
        await follow(dataDir, bucket).catch(() => (failed += 1));
        const isOver = model.asked.length <= at;
        expectReadable(model);
        model.fault = () => undefined;
        await follow(dataDir, bucket);
        expectEqual(model, dataDir);
        if (isOver) break;
        expect(at).toBeLessThan(requestsMax - 1);
      }
      expect(failed).toBeGreaterThan(5);
    },
  );

  it('all requests from one on, as a kill does', async () => {
    const { model, dataDir, bucket, reset } = await openScene(isVersioned);
    let isWhole = false;
    for (let at = 0; at < requestsMax && !isWhole; at += 1) {
      reset();
      model.fault = (index) => (index >= at ? 'cut before' : undefined);
      isWhole = await follow(dataDir, bucket).then(
        () => true,
        () => false,
      );
      expectReadable(model);
      model.fault = () => undefined;
      await follow(dataDir, bucket);
      expectEqual(model, dataDir);
    }
    expect(isWhole).toBe(true);
  });
});
