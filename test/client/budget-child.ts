import process from 'node:process';
import { createBudget } from '../../src/client/budget.ts';
import { readPace } from '../../src/client/pace.ts';
import { openTransport } from '../../src/client/transport.ts';
import { systemClock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { openDatabase } from '../../src/mirror/database.ts';
import { openRequestTimes } from '../../src/mirror/request-times.ts';

// Sends requests under the budget, over the mirror's own request times, until it is killed.

/** What the process is told, as JSON, in its one argument. */
export type ChildOptions = {
  dataDir: string;
  origin: string;
  concurrency: number;
  windows: { requests: number; perSeconds: number }[];
  requestTimeoutMs: number;
};

const { dataDir, origin, concurrency, windows, requestTimeoutMs } = JSON.parse(process.argv[2] ?? '') as ChildOptions;

const transport = openTransport(origin, 'key', concurrency, { totalTimeoutMs: requestTimeoutMs, bodyBytesMax: 1000 });
const budget = createBudget({ concurrency, windows, recordings: { windows: [] } }, systemClock, (clock, kept) =>
  openRequestTimes(openDatabase(dataDir, clock), clock, { ...kept, timeoutMs: requestTimeoutMs, readPace }),
);
/** A request that is not answered in time has still been made. */
async function ask(): Promise<void> {
  try {
    await transport.send({ method: 'GET', path: '/' });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unreachable') throw error;
  }
}

const workers = Array.from({ length: concurrency + 2 }, async () => {
  for (;;) await budget.run(ask, { lane: 'general', priority: 'full' });
});
await Promise.all(workers);
