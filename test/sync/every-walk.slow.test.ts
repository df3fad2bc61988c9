import { expect, it } from 'vitest';
import { everyWalk, type Serving, type SmallWorld } from './every-walk.ts';

const servings: readonly Serving[] = ['count and next', 'has_next'];

it.each(
  servings.flatMap((serving) =>
    ([1, 2] as const).flatMap((inFlightMax) => [3, 4, 5, 6, 7].map((rows) => ({ serving, inFlightMax, rows }))),
  ),
)('no walk with up to three changes says complete and misses a row: %o', ({ serving, inFlightMax, rows }) => {
  // Two windows ahead with three changes make hundreds of millions of walks at seven rows: two changes there.
  const changesMax = inFlightMax === 2 && rows === 7 ? 2 : 3;
  const { walks, pages, complete, missing } = everyWalk({ rows, changesMax, inFlightMax, serving });
  process.stdout.write(
    `${rows} rows, ${inFlightMax} in flight, ${serving}, up to ${changesMax} changes: ${walks} walks, ${pages} pages, ${complete} complete\n`,
  );
  expect(missing).toBeUndefined();
  // An only page without one of the rows that it counts proves nothing.
  expect(complete).toBeGreaterThan(walks * (rows === 3 && serving === 'count and next' ? 0.7 : 0.9));
});

const tied = [2, 3].flatMap((momentRows) =>
  (['turned', 'by answer'] as const).flatMap((order) =>
    ([1, 2] as const).flatMap((inFlightMax) =>
      (order === 'turned' ? [4, 5, 6, 7, 8] : momentRows === 2 ? [4, 5, 6, 7] : [4, 5]).map((rows): SmallWorld => {
        // Another order at each answer makes very many more walks.
        const changesMax = order === 'turned' ? (rows < 7 ? 3 : 2) : 1;
        return { rows, momentRows, order, inFlightMax, changesMax, serving: 'has_next' };
      }),
    ),
  ),
);

it.each(tied)('no walk over moments of more rows says complete and misses a row: %o', (world) => {
  const { walks, pages, complete, missing } = everyWalk(world);
  process.stdout.write(
    `${world.rows} rows, ${world.momentRows} a moment, ${world.order}, ${world.inFlightMax} in flight, up to ${world.changesMax} changes: ${walks} walks, ${pages} pages, ${complete} complete\n`,
  );
  expect(missing).toBeUndefined();
  expect(complete).toBeGreaterThan(walks * 0.9);
});

it.each([5, 6, 7])('no walk over a moment of %i rows, which no window shows whole, misses a row', (rows) => {
  const { walks, pages, complete, missing } = everyWalk({
    rows,
    changesMax: 2,
    inFlightMax: 1,
    serving: 'next',
    momentRows: rows,
    widestRows: 3,
  });
  process.stdout.write(
    `${rows} rows of one moment, 3 a window: ${walks} walks, ${pages} pages, ${complete} complete\n`,
  );
  expect(missing).toBeUndefined();
  expect(complete).toBeGreaterThan(walks * 0.8);
});

it('no walk over pages of six rows with up to two changes says complete and misses a row', () => {
  const { walks, missing } = everyWalk({ rows: 14, changesMax: 2, inFlightMax: 2, serving: 'has_next', pageSize: 6 });
  process.stdout.write(`pages of six: ${walks} walks\n`);
  expect(missing).toBeUndefined();
});
