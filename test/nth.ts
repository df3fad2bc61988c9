import process from 'node:process';

/** One in so many cases is taken: `.ci/run` sets it where all would take minutes. Without it, all are. */
export const nth = Number(process.env['NTH'] ?? 1);

/** The cases that are taken, in their order. */
export function everyNth<T>(all: readonly T[]): T[] {
  return all.filter((_each, at) => at % nth === 0);
}
