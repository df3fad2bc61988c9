import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The size in bytes that `start-up.ts` calls large too; that file imports nothing of this program. */
const largeHeapBytes = 96 * 1024 * 1024;
/** Less is not worth a collection, which also forgets compiled code. */
const growthBytes = 32 * 1024 * 1024;
let bytesInUse = 0;

/**
 * Gives the memory of a large heap that is not in use back to the system, before another process or a writer of files takes its
 * share. V8 would keep it for what comes next. A heap that has hardly grown since the last time is left as it is. Node hands out the
 * collector only under `--expose-gc`; without it, nothing happens.
 */
export function shrinkHeap(): void {
  if (getHeapStatistics().total_heap_size <= Math.max(largeHeapBytes, bytesInUse + growthBytes)) return;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined;
  setFlagsFromString('--no-expose-gc');
  collect?.({ type: 'major', flavor: 'last-resort', execution: 'sync' });
  bytesInUse = getHeapStatistics().total_heap_size;
}
