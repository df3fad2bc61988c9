import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

// Preloaded into a process: each of its threads starts THREADS_LATE_MS milliseconds later, as on a machine that has much to do.
const startsMs = performance.now() + (isMainThread ? 0 : Number(process.env['THREADS_LATE_MS'] ?? 0));
while (performance.now() < startsMs);
