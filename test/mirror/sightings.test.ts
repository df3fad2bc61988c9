import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { nobody, type Sighting } from '../../src/contract/identity.ts';
import { findRecordingsInParts } from '../../src/mirror/sightings.ts';
import { prepareWriteRows } from '../../src/mirror/write-rows.ts';
import { recordingRow } from '../snapshot/rows.ts';
import { openTestMirror } from './open-test-mirror.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('globalThis.gc') as () => void;

function heapBytes(): number {
  collect();
  return getHeapStatistics().used_heap_size;
}

// A person with 200 kB of properties and 4,000 recordings, each of which embeds them, could not be erased for want of memory.
test.each([{ person_uuid: ['p1'] }, { recording_id: Array.from({ length: 200 }, (_none, at) => `r${at}`) }])(
  'of recordings that embed the same large person, one text is in memory',
  (sought) => {
    const { db } = openTestMirror();
    const person = JSON.stringify({ uuid: 'p1', properties: { note: 'x'.repeat(100_000) } });
    const rows = Array.from({ length: 200 }, (_none, at) => recordingRow(`r${at}`, { person }));
    db.transaction(() => prepareWriteRows(db, 'recordings')({ rows, quarantined: [], at: '' }, 1))();
    const all = vi.spyOn(Object.getPrototypeOf(db.prepare('SELECT 1')) as { all: () => unknown[] }, 'all');
    const before = heapBytes();
    const found: Sighting[] = findRecordingsInParts(db, { ...nobody, ...sought })
      .toArray()
      .flat();
    expect(found).toHaveLength(200);
    expect(found[199]?.values).toContain(person);
    expect(heapBytes() - before).toBeLessThan(4_000_000);
    expect(all).not.toHaveBeenCalled();
    all.mockRestore();
  },
);
