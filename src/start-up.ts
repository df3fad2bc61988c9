import module from 'node:module';
import { env, exit, stderr } from 'node:process';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { growYoungGeneration } from './core/heap.ts';
import { oldNode } from './core/needed-node.ts';

// Loaded first: on an older Node, another module would fail with an error that does not name the cause. So this file has
// only what Node 18 can read, and takes nothing by name that Node 18 lacks.
if (oldNode !== undefined) {
  const way = import.meta.url.endsWith('.ts') ? 'run it as `npm run --silent mirror -- …`' : 'install a newer Node';
  stderr.write(`${oldNode}; ${way}\n`);
  exit(2);
}

// Most of what a page allocates is garbage soon, but V8 lets the heap grow to three times what is in use before it
// collects. Measured (an unchanged pass of 100,000 persons, CPU microseconds a row and MB resident): without these flags 21
// and 289, with a growth of 100 % 23 and 162, with one of 20 % 30 and 150.
setFlagsFromString('--semi-space-growth-factor=1');
// A small heap is collected a thousand times in a pass: other threads cost more than they help (8.5 instead of 9.3 µs a row).
setFlagsFromString('--no-parallel-scavenge');
setFlagsFromString('--heap-growing-percent=100');

// A large heap is kept near what is in use: one person can have a million recordings, or one row 50 MB. Then memory counts
// more than time. Measured (`erase add` of such a person, CPU seconds and MB resident): 50 and 732 without, 73 and 502 with it.
const largeHeapBytes = 96 * 1024 * 1024;
let isLarge = false;
setInterval(() => {
  const wasLarge = isLarge;
  isLarge = getHeapStatistics().used_heap_size > largeHeapBytes;
  if (isLarge !== wasLarge) setFlagsFromString(`--heap-growing-percent=${isLarge ? 20 : 100}`);
}, 100).unref();

// Nothing is optimised until the program first waits, for an answer or for the disk: a short command has ended before. Measured
// (`status` on a million persons): 0.38 CPU seconds with it, 0.31 without.
for (const flag of ['--no-opt', '--no-maglev']) setFlagsFromString(flag);
setImmediate(() => {
  for (const flag of ['--opt', '--maglev']) setFlagsFromString(flag);
  growYoungGeneration();
});

// Beside the code, where only those may write who may change the code. Where nobody may, there is no cache.
const cache = fileURLToPath(new URL('../node_modules/.cache/analytics-mirror', import.meta.url));
module.enableCompileCache(cache);
// A thread has none unless its environment names it. Measured (one that loads a store's client, CPU seconds): 0.39 without, 0.21 with it.
if (module.getCompileCacheDir() !== undefined) env['NODE_COMPILE_CACHE'] ??= cache;
