import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { sha256 } from '../../core/digest.ts';

/** Random choices that a seed repeats exactly. */
export type SeededRandom = {
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number;
  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
  oneIn(n: number): boolean;
  /** A UUID of version 4's form. */
  uuid(): string;
};

/** Choices from a seed, a whole number; only its lower 32 bits count. */
export function seededRandom(seed: number): SeededRandom {
  const generator = xoroshiro128plus(seed);
  const int = (min: number, max: number): number => uniformInt(generator, min, max);
  const hex32 = (): string => (generator.next() >>> 0).toString(16).padStart(8, '0');
  return {
    int,
    pick: <T>(list: readonly T[]) => list[int(0, list.length - 1)] as T,
    oneIn: (n) => int(1, n) === 1,
    uuid: () => {
      const hex = hex32() + hex32() + hex32() + hex32();
      const variant = '89ab'.charAt(generator.next() & 3);
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
  };
}

/** Independent choices for each purpose. The seed is hashed, because similar seeds give similar first numbers. */
export function randomFor(purpose: string, seed: number, occasion = 0): SeededRandom {
  return seededRandom(Number.parseInt(sha256(`${purpose} ${seed} ${occasion}`).slice(0, 8), 16));
}

/** The time before which all generated times lie. It is fixed, so that a seed always gives the same data. */
export const baseMs = Date.UTC(2025, 0, 1);

const dayMicros = 86_400_000_000;

/** A time within the given days before the base, in microseconds since 1970; one in ten falls on a whole second. */
export function microsBeforeBase(random: SeededRandom, daysMax: number): number {
  const micros = baseMs * 1000 - random.int(1, daysMax * dayMicros);
  return random.oneIn(10) ? Math.floor(micros / 1_000_000) * 1_000_000 : micros;
}
