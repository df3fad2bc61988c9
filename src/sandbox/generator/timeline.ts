import type { SeededRandom } from './seeded-random.ts';

/** The instant all generated times lead up to, fixed so that a seed always gives the same data. */
export const baseMs = Date.UTC(2025, 0, 1);

const dayMicros = 86_400_000_000;

/** A time within the given days before the base, in microseconds since 1970; one in ten falls on a whole second. */
export function microsBeforeBase(random: SeededRandom, daysMax: number): number {
  const micros = baseMs * 1000 - random.int(1, daysMax * dayMicros);
  return random.oneIn(10) ? Math.floor(micros / 1_000_000) * 1_000_000 : micros;
}
