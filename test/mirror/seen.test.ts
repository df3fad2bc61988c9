import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Database } from '../../src/mirror/database.ts';
import { forgetSeen, prepareSeen, seenPass, seenRows } from '../../src/mirror/seen.ts';
import { openTestMirror } from './open-test-mirror.ts';

type Step = { do: 'mark'; rows: number[]; pass: number } | { do: 'remove'; row: number };

/** Rows near each other, as on a page, and some that stand far away. */
const rows = fc.uniqueArray(
  fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 1, max: 40 }) }, fc.constantFrom(5_000, 5_001)),
  { maxLength: 14 },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('mark' as const), rows, pass: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), row: fc.integer({ min: 1, max: 42 }) }) },
);

/** The last pass of each row, as the ranges say. */
function seenIn(db: Database): [rowKey: number, pass: number][] {
  const sql = `SELECT row_key, pass_id FROM ${seenRows('recordings')} ORDER BY row_key`;
  return db.prepare<[], [number, number]>(sql).raw().all();
}

it('says of every row which pass saw it last, as a map of them would', () => {
  const { db } = openTestMirror();
  const { isSeen, markSeen } = prepareSeen(db, 'recordings');
  const add = db.prepare(
    `INSERT OR IGNORE INTO recordings (row_key, id, first_seen_pass, changed_at) VALUES (@rowKey, @rowKey, 1, '')`,
  );
  const remove = [`DELETE FROM recordings WHERE row_key = @rowKey`, ...forgetSeen('recordings')].map((sql) =>
    db.prepare(sql),
  );
  const passOf = db.prepare<{ rowKey: number }>(`SELECT ${seenPass('recordings', '@rowKey')}`).pluck();
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      db.exec('BEGIN');
      try {
        const known = new Map<number, number>();
        for (const each of steps) {
          if (each.do === 'remove') {
            for (const statement of remove) statement.run({ rowKey: each.row });
            known.delete(each.row);
          } else {
            for (const row of each.rows) add.run({ rowKey: row });
            const fresh = new Set(each.rows.filter((row) => (known.get(row) ?? 0) < each.pass));
            expect(markSeen(each.rows, each.pass)).toBe(fresh.size);
            for (const row of fresh) known.set(row, each.pass);
          }
          expect(seenIn(db)).toEqual([...known].toSorted(([one], [other]) => one - other));
          for (const row of [1, 7, 13, 30, 5_000]) {
            expect(passOf.get({ rowKey: row })).toBe(known.get(row) ?? null);
            expect(isSeen(row, 2)).toBe(known.get(row) === 2);
          }
        }
        // As few ranges as there can be: none that touches the one before it is of the same pass.
        const ranges = db.prepare<[], [number, number, number]>(`SELECT * FROM recordings_seen ORDER BY 1`).raw().all();
        for (const [index, [from, , pass]] of ranges.entries()) {
          const [, to, before] = ranges[index - 1] ?? [0, -1, 0];
          expect(to < from).toBe(true);
          expect(to === from - 1 && before === pass).toBe(false);
        }
      } finally {
        db.exec('ROLLBACK');
      }
    }),
    { numRuns: 200 },
  );
  db.close();
});

it('keeps a pass over a whole list in one range', () => {
  const { db } = openTestMirror();
  const { markSeen } = prepareSeen(db, 'persons');
  const page = (first: number): number[] => Array.from({ length: 1000 }, (_row, index) => first + index);
  db.transaction(() => {
    for (const pass of [1, 2]) for (let first = 1; first < 20_000; first += 1000) markSeen(page(first), pass);
  })();
  expect(db.prepare(`SELECT * FROM persons_seen`).raw().all()).toEqual([[1, 20_000, 2]]);
  db.close();
});
