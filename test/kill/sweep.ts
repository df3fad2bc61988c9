/** Runs `check` for a fault at the first step, and each so many steps further, until it meets none; how many it met. */
export async function sweep(check: (faultAt: number) => Promise<boolean>, stride = 1): Promise<number> {
  let met = 0;
  while (await check(1 + met * stride)) met += 1;
  return met;
}
