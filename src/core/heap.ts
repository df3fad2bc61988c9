import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A command that has done no work yet has less. */
const smallHeapBytes = 48 * 1024 * 1024;
/** Less is not worth a collection, which also forgets compiled code. */
const growthBytes = 32 * 1024 * 1024;
let bytesInUse = 0;

/**
 * Gives the memory of the heap that is not in use back to the system, before another process or DuckDB takes its share: V8 would keep
 * it. A small heap, and one that has hardly grown since the last time, is left as it is. Node hands out the collector only under
 * `--expose-gc`; without it, nothing happens. Measured (`reconcile` at 1,000,000 persons, MB resident): 350 without it, 290 with it.
 */
export function shrinkHeap(): void {
  if (getHeapStatistics().total_heap_size <= Math.max(smallHeapBytes, bytesInUse + growthBytes)) return;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined;
  setFlagsFromString('--no-expose-gc');
  collect?.({ type: 'major', flavor: 'last-resort', execution: 'sync' });
  bytesInUse = getHeapStatistics().total_heap_size;
}
