/** Does work for each item; every lane takes the next item when it is done with the last. */
export async function shareOut<L, T>(
  lanes: readonly L[],
  items: readonly T[],
  work: (lane: L, item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(
    lanes.map(async (lane) => {
      for (const item of rest) await work(lane, item);
    }),
  );
}
