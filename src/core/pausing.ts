import { setImmediate } from 'node:timers/promises';

/** How long a step may take before other work goes on. */
const stepMs = 50;

/** Lets other work go on where the last pause was some time ago. Throws the signal's reason once it is aborted. */
export type Pause = () => Promise<void>;

/** Prepares pauses in long work: timers run and signals are heard between its steps. */
export function pausing(signal?: AbortSignal): Pause {
  let sinceMs = performance.now();
  return async () => {
    signal?.throwIfAborted();
    if (performance.now() - sinceMs < stepMs) return;
    await setImmediate();
    signal?.throwIfAborted();
    sinceMs = performance.now();
  };
}
