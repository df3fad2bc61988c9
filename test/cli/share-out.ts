/** Does work for each item, numbered from 0; every lane takes the next item when it is done with the last. */
export async function shareOut<L, T>(
  lanes: readonly L[],
  items: readonly T[],
  work: (lane: L, item: T, index: number) => Promise<void>,
): Promise<void> {
  const rest = items.entries();
  await Promise.all(
    lanes.map(async (lane) => {
      for (const [index, item] of rest) await work(lane, item, index);
    }),
  );
}
