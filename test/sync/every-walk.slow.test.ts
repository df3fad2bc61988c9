import { expect, it } from 'vitest';
import { everyWalk, type SmallWorld } from './every-walk.ts';

type Walked = [world: SmallWorld, completeShare: number];

/** Two windows ahead with three changes make hundreds of millions of walks at seven rows: two changes there. */
const untied = (['count and next', 'has_next'] as const).flatMap((serving) =>
  ([1, 2] as const).flatMap((inFlightMax) =>
    [3, 4, 5, 6, 7].map((rows): Walked => {
      const changesMax = inFlightMax === 2 && rows === 7 ? 2 : 3;
      // An only page without one of the rows that it counts proves nothing.
      return [{ rows, changesMax, inFlightMax, serving }, rows === 3 && serving === 'count and next' ? 0.7 : 0.9];
    }),
  ),
);

const tied = [2, 3].flatMap((momentRows) =>
  (['turned', 'by answer'] as const).flatMap((order) =>
    ([1, 2] as const).flatMap((inFlightMax) =>
      (order === 'turned' ? [4, 5, 6, 7, 8] : momentRows === 2 ? [4, 5, 6, 7] : [4, 5]).map((rows): Walked => {
        // Another order at each answer makes very many more walks.
        const changesMax = order === 'turned' ? (rows < 7 ? 3 : 2) : 1;
        return [{ rows, momentRows, order, inFlightMax, changesMax, serving: 'has_next' }, 0.9];
      }),
    ),
  ),
);

/** Lists of one moment, which no window shows whole. */
const large = [5, 6, 7].map((rows): Walked => [
  { rows, changesMax: 2, inFlightMax: 1, serving: 'next', momentRows: rows, widestRows: 3 },
  0.8,
]);

const widerPages: Walked = [{ rows: 14, changesMax: 2, inFlightMax: 2, serving: 'has_next', pageSize: 6 }, 0];

it.each([...untied, ...tied, ...large, widerPages])(
  'no walk says complete and misses a row: %o; more than %d of all are complete',
  (world, completeShare) => {
    const { walks, pages, complete, missing } = everyWalk(world);
    process.stdout.write(`${JSON.stringify(world)}: ${walks} walks, ${pages} pages, ${complete} complete\n`);
    expect(missing).toBeUndefined();
    expect(complete).toBeGreaterThan(walks * completeShare);
  },
);
