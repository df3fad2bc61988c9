import { expect, it } from 'vitest';
import { openFingerprints } from '../../src/mirror/fingerprints.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { lives, pass } from './fingerprint-lives.ts';
import { playHistory } from './fingerprint-world.ts';

it.each(['persons', 'recordings'] as const)('reads of unchanged %s only the first of each page', async (dataset) => {
  // Pages of 12 rows, 4 of which stand on the page before too.
  const once = await playHistory({ dataset, size: 60, steps: [pass()] });
  const { rowsKnown, rowsRead } = await playHistory({ dataset, size: 60, steps: [pass(), pass()] });
  expect(rowsRead - once.rowsRead).toBe(8);
  expect(rowsKnown - once.rowsKnown).toBe(80);
});

it('joins long pages, of which only the last hundred rows are named', async () => {
  const [one, moved] = [pass({ pageSize: 110 }), { do: 'change', change: { do: 'delete', at: 1 } } as const];
  const { rowsKnown } = await playHistory({ dataset: 'persons', size: 220, steps: [one, one, moved, one] });
  expect(rowsKnown).toBeGreaterThan(400);
});

it('is as if every row were read, over a life in which everything happens', async () => {
  const steps = [pass(), pass(), ...lives.flatMap(([, each]) => each), pass({ mode: 'head' })];
  expect((await playHistory({ dataset: 'persons', size: 20, steps })).rowsKnown).toBeGreaterThan(200);
});

it('knows the persons that an erasure does not touch', async () => {
  const [read, erased] = [pass({ pageSize: 100 }), { do: 'fence', at: 4, id: '', what: 'row' } as const];
  const before = await playHistory({ dataset: 'persons', size: 520, steps: [read, read, erased] });
  const { rowsKnown } = await playHistory({ dataset: 'persons', size: 520, steps: [read, read, erased, read] });
  // Of five blocks of 128, one has lost a row.
  expect(rowsKnown - before.rowsKnown).toBeGreaterThan(360);
});

it('keeps no fingerprint for another reader', () => {
  const { db } = openTestMirror();
  const count = (): unknown =>
    db.prepare(`SELECT (SELECT count(*) FROM persons_shown) + (SELECT count(*) FROM recordings_shown)`).pluck().get();
  const fill = (): void => {
    for (const dataset of ['persons', 'recordings'] as const) {
      const fingerprints = openFingerprints(db, dataset, 200);
      fingerprints.begin([]);
      fingerprints.note(1, { page: Buffer.from('{}'), from: 0, to: 2, time: null });
      fingerprints.save();
    }
  };
  fill();
  fill();
  expect(count()).toBe(2);
  openFingerprints(db, 'persons', 100);
  openFingerprints(db, 'recordings', 200);
  expect(count()).toBe(1);
  db.exec(`UPDATE shown_reader SET reader = 'of another version'`);
  openFingerprints(db, 'recordings', 200);
  expect(count()).toBe(0);
});
