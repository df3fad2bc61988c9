import { vi } from 'vitest';

/** How often other work had its turn while `act` ran, if each step of `act` takes longer than a step may. */
export async function turnsWhile(act: () => Promise<unknown>): Promise<number> {
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1000));
  let turns = 0;
  const work = { isOver: false };
  const turn = (): void => {
    turns += 1;
    if (!work.isOver) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    await act();
  } finally {
    work.isOver = true;
    clock.mockRestore();
  }
  return turns;
}
