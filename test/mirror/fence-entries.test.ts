import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fenceIdentifiers, liftFence, setEpoch } from '../../src/mirror/fence.ts';
import { consumerKey, controlIdentifier, fenceDigest, fenceRows } from '../../src/mirror/fence-entries.ts';
import { openTestMirror } from './open-test-mirror.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
/** An entry as docs/fence.md says that it is made. */
const entryOf = (key: string, kind: string, value: string): string =>
  sha256(`${key.slice(64)}${sha256(`${key.slice(0, 64)}${kind}:${value}`)}`);

function erased() {
  const { db, dataDir } = openTestMirror();
  fenceIdentifiers(db, { id: 'one', epoch: 1, at: '2026-01-01T00:00:00Z' }, [
    { kind: 'person_uuid', value: '00000000-0000-4000-8000-000000000001' },
    { kind: 'person_id', value: '17' },
    { kind: 'distinct_id', value: "Ann's é\u0000" },
  ]);
  fenceIdentifiers(db, { id: 'two', epoch: 2, at: '2026-01-01T00:00:00Z' }, [
    { kind: 'distinct_id', value: "Ann's é\u0000" },
    { kind: 'recording_id', value: 'r' },
  ]);
  setEpoch(db, 2);
  return { db, dataDir };
}

test('each consumer finds each uuid, distinct id and recording once, under its own key, and the control', () => {
  const { db, dataDir } = erased();
  const rows = fenceRows(db, dataDir, ['crm', 'warehouse']);
  expect(rows.map(({ entry }) => entry)).toEqual(rows.map(({ entry }) => String(entry)).toSorted());
  for (const consumer of ['crm', 'warehouse']) {
    const key = consumerKey(dataDir, consumer);
    const wanted = [
      ['person_uuid', '00000000-0000-4000-8000-000000000001', null],
      ['distinct_id', "Ann's é\u0000", null],
      ['recording_id', 'r', null],
      ...['person_uuid', 'distinct_id', 'recording_id'].map((kind) => [kind, controlIdentifier, 2n] as const),
    ] as const;
    expect(
      rows
        .filter((row) => row['consumer'] === consumer)
        .toSorted((a, b) => (String(a['entry']) < String(b['entry']) ? -1 : 1)),
    ).toEqual(
      wanted
        .map(([kind, value, epoch]) => ({ entry: entryOf(key, kind, value), consumer, kind, epoch }))
        .toSorted((a, b) => (a.entry < b.entry ? -1 : 1)),
    );
  }
});

test('no key of one consumer makes an entry of another, and another key makes other entries', () => {
  const { db, dataDir } = erased();
  const [own, other] = ['warehouse', 'crm'].map((consumer) => consumerKey(dataDir, consumer));
  expect(own?.slice(0, 64)).toBe(other?.slice(0, 64));
  expect(own?.slice(64)).not.toBe(other?.slice(64));
  expect(readFileSync(join(dataDir, 'keys/fence.key'), 'utf8')).not.toContain(own?.slice(0, 64) ?? '');
  const before = fenceRows(db, dataDir, ['warehouse']);
  expect(fenceDigest(fenceRows(db, dataDir, ['warehouse']))).toBe(fenceDigest(before));
  rmSync(join(dataDir, 'keys/fence-warehouse.key'));
  const after = new Set(fenceRows(db, dataDir, ['warehouse']).map(({ entry }) => entry));
  expect(before.filter(({ entry }) => after.has(entry))).toEqual([]);
});

test('who is let in again leaves, but for what another request fences', () => {
  const { db, dataDir } = erased();
  const digest = fenceDigest(fenceRows(db, dataDir, ['warehouse']));
  liftFence(db, 'one');
  const rows = fenceRows(db, dataDir, ['warehouse']);
  const kinds = rows.flatMap(({ epoch, kind }) => (epoch === null ? [String(kind)] : []));
  expect(new Set(kinds)).toEqual(new Set(['distinct_id', 'recording_id']));
  expect(kinds).toHaveLength(2);
  expect(fenceDigest(rows)).not.toBe(digest);
  expect(fenceRows(db, dataDir, [])).toEqual([]);
});
