import { AppError } from '../core/errors.ts';
import type { WorkerState } from '../job/worker-state.ts';
import type { Logger } from '../log/logger.ts';
import { alertMessage, signOfLife, type AlertMessage, type AlertTarget } from './alert-format.ts';
import type { AlertChange } from './alerts.ts';

/** The most messages that wait. More would wait only when the receiver has not answered for long; the oldest are then dropped. */
const waitingMax = 100;

/** Posts alerts in their order, one at a time. The worker never waits for the receiver. */
export type AlertPost = {
  add(change: AlertChange): void;
  /** Hears of every look at the projects. A receiver that awaits signs of life gets one if no alert is open. */
  look(state: Pick<WorkerState, 'projects'>): void;
  /** Resolves when every message is posted or has failed. */
  idle(): Promise<void>;
};

/** Posts by `post`, which tries again by itself. A rejection is logged, and the next message is posted. */
export function alertPost(post: (message: AlertMessage) => Promise<void>, target: AlertTarget, log: Logger): AlertPost {
  const waiting: { message: AlertMessage; alert: string }[] = [];
  let underWay: Promise<void> | null = null;
  const empty = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        await post(next.message);
      } catch (error) {
        const code = error instanceof AppError ? error.code : 'unexpected';
        log.warn({ alert: next.alert, code }, 'an alert could not be posted');
      }
    }
    underWay = null;
  };
  const add = (message: AlertMessage | null, alert: string): void => {
    if (message === null) return;
    waiting.push({ message, alert });
    waiting.splice(0, waiting.length - waitingMax);
    underWay ??= empty();
  };
  return {
    add: (change) => add(alertMessage(target, change), change.alert.kind),
    look: ({ projects }) => {
      const isWell = projects.every(({ alerts }) => alerts.length === 0);
      if (isWell && underWay === null) add(signOfLife(target), 'none');
    },
    idle: async () => {
      await underWay;
    },
  };
}
