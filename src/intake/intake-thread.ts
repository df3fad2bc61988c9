import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { FromIntake, IntakeTask, ToIntake } from './intake.ts';
import type { Told } from './receiver.ts';
import { startIntakeServer } from './server.ts';

// The thread of the intake: whatever a job computes, a call is read and answered here.
const { settings, tokens } = workerData as IntakeTask;
const port = parentPort;
if (!port) throw new Error('no thread');
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const tell = (message: FromIntake): void => port.postMessage(message);

const waiting = new Map<number, (told: Told) => void>();
let calls = 0;
/** So many calls wait for the ledgers at most: those above are told so at once. The receiver of each project gives up its oldest before. */
const waitingMax = 4_000;

try {
  const server = await startIntakeServer({
    ...settings,
    tokens,
    nowMs: () => systemClock.now(),
    ask: (project, asked) => {
      if (waiting.size >= waitingMax) return Promise.resolve({ unavailable: 'busy' });
      const call = (calls += 1);
      const { promise, resolve } = Promise.withResolvers<Told>();
      waiting.set(call, resolve);
      tell({ call, project, asked });
      return promise;
    },
    onError: (error) => tell({ failed: error instanceof AppError ? error.code : 'unexpected' }),
  });
  port.on('message', (message: ToIntake) => {
    if ('close' in message) void server.close().then(() => port.close());
    else {
      waiting.get(message.call)?.(message.told);
      waiting.delete(message.call);
    }
  });
  tell({ url: server.url });
} catch (error) {
  if (!(error instanceof AppError)) throw error;
  tell({ refused: { message: error.message, code: error.code, hint: error.hint } });
  port.close();
}
