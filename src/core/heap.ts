import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The size in bytes that `start-up.ts` calls large too; that file imports nothing of this program. */
const largeHeapBytes = 96 * 1024 * 1024;

/** A heap that has grown by less since it was shrunk has too little to give back for the time that it takes. */
const worthwhileBytes = 32 * 1024 * 1024;

/** The size in bytes of the heap when it was last shrunk. */
let keptBytes = 0;

/**
 * Gives the memory of a large heap that is not in use back to the system, before another process or a writer of files takes its
 * share. V8 would keep it for what comes next. Node hands out the collector only under `--expose-gc`; without it, nothing happens.
 */
export function shrinkHeap(): void {
  if (heapBytes() <= Math.max(largeHeapBytes, keptBytes + worthwhileBytes)) return;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined;
  setFlagsFromString('--no-expose-gc');
  collect?.({ type: 'major', flavor: 'last-resort', execution: 'sync' });
  keptBytes = heapBytes();
}

function heapBytes(): number {
  return getHeapStatistics().total_heap_size;
}
