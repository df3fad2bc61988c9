import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FollowResult, Seen } from '../../src/bucket/follow.ts';
import type { AppError } from '../../src/core/errors.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import {
  expectEqual,
  expectReadable,
  filesOf,
  folderWith,
  follow,
  freshScene,
  publishDistinct,
} from './follow-world.ts';

const year = 365 * 86_400_000;

describe('following a folder', () => {
  it('puts parts first and the pointer last, each once, and then finds nothing to do', async () => {
    const { model, dataDir, bucket } = await freshScene(['a', 'b', 'c']);
    const followed = await follow(dataDir, bucket);
    expect(followed).toMatchObject({ removed: 0, foreign: [], locked: [] });
    expectEqual(model, dataDir);
    const puts = model.asked.filter((asked) => asked.startsWith('PUT'));
    expect(puts).toHaveLength(filesOf(dataDir).size);
    expect(puts.at(-1)).toContain('/mirror/CURRENT.json');
    expect(puts.at(-2)).toContain('/metadata/version-hint.text');
    expect(puts.slice(-4, -2).join()).toMatch(/manifest\.json/);
    expect(await follow(dataDir, bucket)).toEqual({
      files: puts.length,
      put: 0,
      removed: 0,
      aborted: 0,
      foreign: [],
      locked: [],
    });
    expect(model.asked.filter((asked) => asked.startsWith('PUT'))).toEqual(puts);
  });

  it('asks for no object again that stands as it was last seen, and for one that was written since', async () => {
    const { model, dataDir, bucket } = await freshScene(['a', 'b', 'c']);
    const seen: Seen = new Map();
    const again = (): Promise<FollowResult> => follow(dataDir, bucket, undefined, undefined, seen);
    const { files } = await again();
    // Of the pointer it always asks: it can be put again, and then carries something else.
    expect(seen.size).toBe(files - 1);
    const askedBy = async (act: () => Promise<unknown>): Promise<string[]> => {
      const before = model.asked.length;
      await act();
      return model.asked.slice(before).filter((asked) => asked.startsWith('HEAD'));
    };
    expect(await askedBy(again)).toEqual([expect.stringContaining('/mirror/CURRENT.json')]);
    const other = [...filesOf(dataDir).keys()].find((key) => key.endsWith('part-00001.parquet')) ?? '';
    const bytes = model.current().get(other) ?? Buffer.of();
    model.put(other, Buffer.alloc(bytes.length, 'of another'));
    expect((await askedBy(again)).join()).toContain(other);
    expectEqual(model, dataDir);
  });

  it.each([{ isVersioned: true }, { isVersioned: false }])(
    'removes what the folder has retired, with every version, marker and upload: $isVersioned',
    async (options) => {
      const { model, dataDir, bucket } = await freshScene(['a', 'b', 'c'], options);
      await follow(dataDir, bucket);
      const retired = [...filesOf(dataDir).keys()].find((key) => key.endsWith('part-00001.parquet')) ?? '';
      model.put(retired, 'older bytes of a person');
      model.versions.get(retired)?.push({ id: 'marker', bytes: null, publisher: undefined, until: 0, at: 0 });
      model.uploads.push({ key: retired, id: 'left over' });
      await publishDistinct(dataDir, ['b']);
      const first = publishedFilesIn(dataDir).listSnapshots('distinct_ids')[0]?.id ?? '';
      publishedFilesIn(dataDir).removeSnapshots('distinct_ids', [first]);
      const followed = await follow(dataDir, bucket);
      expect(followed.aborted).toBe(1);
      expectEqual(model, dataDir);
    },
  );

  it('removes stray parts of its own naming, and neither touches nor hides what it does not know', async () => {
    const { model, dataDir, bucket } = await freshScene(['a']);
    const stray = 'mirror/persons/20200101T000000.000Z/part-00001.parquet';
    model.put(stray, 'a part that a lost folder left');
    model.put('mirror/notes.txt', 'not ours');
    model.put('mirror/persons/20200101T000000.000Z/notes.txt', 'not ours');
    model.put('mirror-2/CURRENT.json', 'outside the prefix');
    model.uploads.push({ key: 'mirror/other.bin', id: 'not ours' });
    const { foreign } = await follow(dataDir, bucket);
    expect(foreign).toEqual(['notes.txt', 'persons/20200101T000000.000Z/notes.txt']);
    expect(model.versions.has(stray)).toBe(false);
    expect([...model.versions.keys()]).toEqual(
      expect.arrayContaining([
        'mirror/notes.txt',
        'mirror-2/CURRENT.json',
        'mirror/persons/20200101T000000.000Z/notes.txt',
      ]),
    );
    expect(model.uploads).toHaveLength(1);
  });

  it('puts an object again whose bytes are not those of the file, also where the store keeps no checksum', async () => {
    const { model, dataDir, bucket } = await freshScene(['a', 'b']);
    model.vices = { keepsNoChecksum: true };
    await follow(dataDir, bucket);
    const [key = '', bytes = Buffer.alloc(0)] = [...filesOf(dataDir)].find(([name]) => name.endsWith('.parquet')) ?? [];
    model.put(key, Buffer.alloc(bytes.length, 1));
    expect((await follow(dataDir, bucket)).put).toBe(1);
    expectEqual(model, dataDir);
  });

  it('puts an object again that a rule of the bucket has moved into an archive, where no reader can open it', async () => {
    const { model, dataDir, bucket } = await freshScene(['a', 'b']);
    const seen: Seen = new Map();
    const files = await follow(dataDir, bucket, undefined, undefined, seen);
    const moved = [...model.versions.values()].flatMap((versions) => versions.map(({ id }) => id));
    model.archived = new Set(moved);
    expect((await follow(dataDir, bucket, undefined, undefined, seen)).put).toBe(files.put);
    expect([...model.versions.values()].flat().filter(({ id }) => moved.includes(id))).toEqual([]);
    expectEqual(model, dataDir);
    expect((await follow(dataDir, bucket, undefined, undefined, seen)).put).toBe(0);
  });

  it('empties the bucket with the folder, the pointer first', async () => {
    const { model, dataDir, bucket } = await freshScene(['a']);
    await follow(dataDir, bucket);
    rmSync(join(dataDir, 'snapshots'), { recursive: true });
    await follow(dataDir, bucket);
    expect(model.versions.size).toBe(0);
    expect(model.asked.find((asked) => asked.startsWith('DELETE'))).toContain('CURRENT.json');
  });

  it('changes nothing where the folder has lost a part that its manifest names', async () => {
    const { model, dataDir, bucket } = await freshScene(['a', 'b', 'c']);
    await follow(dataDir, bucket);
    const before = model.current();
    const part = publishedFilesIn(dataDir)
      .listPaths()
      .find(({ path }) => path.endsWith('.parquet'));
    rmSync(part?.from ?? '');
    await expect(follow(dataDir, bucket)).rejects.toMatchObject({ code: 'storage' });
    writeFileSync(part?.from ?? '', Buffer.alloc(part?.bytes ?? 0, 1));
    await expect(follow(dataDir, bucket)).resolves.toMatchObject({ put: 0 });
    expect(model.current()).toEqual(before);
  });

  it('does not publish a part that is not the one of its manifest', async () => {
    const { model, dataDir, bucket } = await freshScene(['a']);
    const part = publishedFilesIn(dataDir)
      .listPaths()
      .find(({ path }) => path.endsWith('.parquet'));
    writeFileSync(part?.from ?? '', Buffer.alloc(part?.bytes ?? 0, 1));
    await expect(follow(dataDir, bucket)).rejects.toMatchObject({ code: 'storage' });
    expect(model.current().size).toBe(0);
  });
});

describe('two publishers', () => {
  it('refuse each other’s prefix, and change nothing there', async () => {
    const { model, dataDir, bucket } = await freshScene(['a']);
    await follow(dataDir, bucket);
    const before = JSON.stringify([...model.versions]);
    await expect(follow(await folderWith('b'), bucket, 'mirror/2')).rejects.toMatchObject({
      code: 'refused',
      finding: 'bucket_of_another',
    });
    expect(JSON.stringify([...model.versions])).toBe(before);
  });

  it.each([{ isVersioned: true }, { isVersioned: false }])(
    'of which one is an older copy of the other: it is refused, and nothing changes: %o',
    async (options) => {
      const { model, dataDir, bucket } = await freshScene(['a', 'b', 'c'], options);
      const heads = new Map([
        [4, 'a'.repeat(64)],
        [9, 'b'.repeat(64)],
      ]);
      // Before the first publication, without a head.
      await follow(dataDir, bucket);
      await follow(dataDir, bucket, 'mirror/1', heads);
      expect(await follow(dataDir, bucket, 'mirror/1', heads)).toMatchObject({ put: 0, removed: 0 });
      expectEqual(model, dataDir);
      const before = JSON.stringify([...model.versions]);
      const refused = { code: 'refused', finding: 'bucket_ahead' };
      const older = await folderWith('a', 'b', 'c', 'erased since');
      const forked = new Map(heads).set(9, 'c'.repeat(64)).set(12, 'd'.repeat(64));
      for (const others of [new Map<number, string>(), new Map([...heads].slice(0, 1)), forked])
        await expect(follow(older, bucket, 'mirror/1', others)).rejects.toMatchObject(refused);
      expect(JSON.stringify([...model.versions])).toBe(before);
      // The folder that goes on may.
      await follow(dataDir, bucket, 'mirror/1', heads.set(12, 'e'.repeat(64)));
      await expect(follow(older, bucket, 'mirror/1', forked)).rejects.toMatchObject(refused);
    },
  );

  it('race for a fresh prefix: one wins, the other takes back what it had put', async () => {
    const { model, dataDir: winner, bucket } = await freshScene(['a', 'b']);
    const loser = await folderWith('c', 'd');
    let other: Promise<unknown> | undefined;
    model.fault = (_index, asked) => {
      if (!/^PUT .*CURRENT/.test(asked) || other) return undefined;
      // The loser has put all but its pointer. The winner runs whole before this pointer arrives.
      other = follow(winner, bucket, 'mirror/1');
      return [503, 'SlowDown'];
    };
    await expect(follow(loser, bucket, 'mirror/2')).rejects.toMatchObject({ code: 'service' });
    await other;
    await expect(follow(loser, bucket, 'mirror/2')).rejects.toMatchObject({ finding: 'bucket_of_another' });
    await follow(winner, bucket, 'mirror/1');
    expectEqual(model, winner);
  });

  it('lose by the condition of the pointer', async () => {
    const { model, dataDir: loser, bucket } = await freshScene(['c', 'd']);
    const theirs = '{"format_version":1,"snapshots":{}}';
    model.fault = (_index, asked) => {
      if (/^PUT .*CURRENT/.test(asked) && !model.versions.has('mirror/CURRENT.json'))
        model.put('mirror/CURRENT.json', theirs, 'mirror/1');
      return undefined;
    };
    await expect(follow(loser, bucket, 'mirror/2')).rejects.toMatchObject({ code: 'busy', finding: 'bucket_outrun' });
    expect([...model.current()].map(([key, bytes]) => [key, String(bytes)])).toEqual([['mirror/CURRENT.json', theirs]]);
  });
});

describe('what cannot be removed', () => {
  it('is told with the end of its lock, the last of several, and goes when that is over', async () => {
    const { model, dataDir, bucket } = await freshScene(['a', 'b', 'c']);
    model.locksUntil = Date.now() + year;
    await follow(dataDir, bucket);
    await publishDistinct(dataDir, ['b']);
    const [first] = publishedFilesIn(dataDir).listSnapshots('distinct_ids');
    publishedFilesIn(dataDir).removeSnapshots('distinct_ids', [first?.id ?? '']);
    const { locked } = await follow(dataDir, bucket);
    const until = new Date(model.locksUntil).toISOString();
    // Two parts, a manifest, and two pointers that were replaced: CURRENT, and the hint of the table.
    expect(locked.map((each) => each.until)).toEqual([until, until, until, until, until]);
    for (const versions of model.versions.values()) for (const version of versions) version.until = 0;
    expect((await follow(dataDir, bucket)).locked).toEqual([]);
    expectEqual(model, dataDir);
  });

  it('has no end known under a legal hold', async () => {
    const { model, dataDir, bucket } = await freshScene(['a']);
    await follow(dataDir, bucket);
    model.put('mirror/persons/20200101T000000.000Z/part-00001.parquet', 'held');
    for (const version of model.versions.get('mirror/persons/20200101T000000.000Z/part-00001.parquet') ?? [])
      version.until = Infinity;
    const { locked } = await follow(dataDir, bucket);
    expect(locked).toMatchObject([{ path: 'persons/20200101T000000.000Z/part-00001.parquet', until: null }]);
  });

  it('is an error where the right is missing, after all else was tried', async () => {
    const { model, dataDir, bucket } = await freshScene(['a']);
    model.put('mirror/persons/20200101T000000.000Z/part-00001.parquet', 'stray');
    model.fault = (_index, asked) => (asked.startsWith('DELETE') ? [403, 'AccessDenied'] : undefined);
    const error = await follow(dataDir, bucket).catch((thrown: unknown) => thrown as AppError);
    expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining('s3:DeleteObjectVersion') });
    expectReadable(model);
  });
});
