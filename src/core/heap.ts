import { setFlagsFromString } from 'node:v8';

/**
 * Lets V8's heap grow by little of what is in use before it collects, which costs time, and saves as much memory as is in use.
 * Where very much is: one person can have a million recordings.
 */
export function spareHeap(): void {
  setFlagsFromString('--heap-growing-percent=20');
}

/** Undoes `spareHeap`: the heap grows as `start-up.ts` lets it grow. */
export function spareHeapNoMore(): void {
  setFlagsFromString('--heap-growing-percent=100');
}
