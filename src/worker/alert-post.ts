import { AppError } from '../core/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { AlertChange } from './alerts.ts';

/** More than this wait only where nobody has answered for long; the newest say how things are. */
const waitingMax = 100;

/** Posts alerts in their order, one at a time, so that the worker never waits for whoever takes them. */
export type AlertPost = {
  add(change: AlertChange): void;
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>;
};

/** Posts by `post`, which tries again by itself; what it rejects with is logged, and the next one goes on. */
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
