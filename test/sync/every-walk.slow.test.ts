import { expect, it } from 'vitest';
import { everyWalk, type Serving } from './every-walk.ts';

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
  expect(complete).toBeGreaterThan(walks * 0.9);
});

it('no walk over pages of six rows with up to two changes says complete and misses a row', () => {
  const { walks, missing } = everyWalk({ rows: 14, changesMax: 2, inFlightMax: 2, serving: 'has_next', pageSize: 6 });
  process.stdout.write(`pages of six: ${walks} walks\n`);
  expect(missing).toBeUndefined();
});
