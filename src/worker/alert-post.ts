import { AppError } from '../core/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { AlertChange } from './alerts.ts';

/** The most alerts that wait. More would wait only when the receiver has not answered for long; the oldest are then dropped. */
const waitingMax = 100;

/** Posts alerts in their order, one at a time. The worker never waits for the receiver. */
export type AlertPost = {
  add(change: AlertChange): void;
  /** Resolves when every alert is posted or has failed. */
  idle(): Promise<void>;
};

/** Posts by `post`, which tries again by itself. A rejection is logged, and the next alert is posted. */
export function alertPost(post: (body: object) => Promise<void>, log: Logger): AlertPost {
  const waiting: AlertChange[] = [];
  let underWay: Promise<void> | null = null;
  const empty = async (): Promise<void> => {
    for (let change = waiting.shift(); change; change = waiting.shift()) {
      const { event, project, alert, at } = change;
      const { kind, job, message, todo } = alert;
      try {
        await post({ event, project, alert: kind, job, message, todo, at });
      } catch (error) {
        log.warn(
          { alert: kind, code: error instanceof AppError ? error.code : 'unexpected' },
          'an alert could not be posted',
        );
      }
    }
    underWay = null;
  };
  return {
    add: (change) => {
      waiting.push(change);
      waiting.splice(0, waiting.length - waitingMax);
      underWay ??= empty();
    },
    idle: async () => {
      await underWay;
    },
  };
}
