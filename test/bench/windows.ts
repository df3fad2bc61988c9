import { overlapOf } from '../../src/sync/walk-windows.ts';
import type { Window } from '../../src/sync/walk-state.ts';

const pageSize = 1000;

/** The windows by which a quiet list of so many rows is walked, first to last. */
export function windowsOf(rows: number): Window[] {
  const step = pageSize - overlapOf('auto', pageSize);
  const count = Math.max(1, Math.ceil((rows - pageSize) / step) + 1);
  return Array.from({ length: count }, (_window, index) => ({ offset: index * step, limit: pageSize }));
}

/** The path by which the program asks for a window of persons. The project is the generation of the list. */
export function personsPath(generation: number, { offset, limit }: Window): string {
  return `/api/environments/${generation}/persons/?offset=${offset}&limit=${limit}`;
}
