import { AppError } from '../core/errors.ts';
import type { WorkerState } from '../job/worker-state.ts';
import type { Logger } from '../log/logger.ts';
import type { AlertChange } from './alerts.ts';
import { alertTable, type AlertFormat } from '../config/alert-kinds.ts';
import { forProject } from '../config/projects.ts';

/** The receiver's format, and the routing key that `pagerduty` needs. */
export type AlertTarget = { format: AlertFormat; routingKey: string };

/** A message to the receiver of alerts: JSON, or a text. `path` is added to the address. */
export type AlertMessage = { body: object | string; path: string };

/**
 * An alert's beginning or end as a receiver wants it. `json` is the format of this program. `slack` is an incoming webhook
 * (also read by Mattermost). `pagerduty` is Events API v2, and needs the routing key of an integration. `healthchecks` reports
 * a failure to a check; see `signOfLife`.
 */
export function alertMessage({ format, routingKey }: AlertTarget, change: AlertChange): AlertMessage | null {
  const { event, project, at } = change;
  const { kind, job, message } = change.alert;
  const todo = forProject(change.alert.todo, project);
  switch (format) {
    case 'json':
      return { body: { event, project, alert: kind, job, message, todo, at }, path: '' };
    case 'slack':
      return { body: { text: slackText(change, todo) }, path: '' };
    case 'pagerduty':
      return {
        body: {
          routing_key: routingKey,
          event_action: event === 'began' ? 'trigger' : 'resolve',
          dedup_key: ['analytics-mirror', project, kind, job ?? ''].join('/'),
          payload: {
            summary: `${project}: ${message}`,
            source: project,
            severity: alertTable[kind].severity,
            timestamp: at,
            component: job ?? 'analytics-mirror',
            class: kind,
            custom_details: { todo },
          },
        },
        path: '',
      };
    case 'healthchecks':
      return event === 'began' ? { body: `${project}: ${message}. ${todo}`, path: '/fail' } : null;
  }
}

/** What tells a receiver that the worker runs and that no alert is open; null for receivers that await none. */
export function signOfLife({ format }: AlertTarget): AlertMessage | null {
  return format === 'healthchecks' ? { body: 'no alert is open', path: '' } : null;
}

function slackText({ event, project, alert: { message } }: AlertChange, todo: string): string {
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const head = `*${escaped(project)}*: ${escaped(message)}`;
  return event === 'began' ? `:red_circle: ${head}.\n${escaped(todo)}` : `:large_green_circle: Over: ${head}.`;
}

/** The most messages that wait. More would wait only when the receiver has not answered for long; the oldest are then dropped. */
const waitingMax = 100;
/** A receiver that answers with errors is asked so many times, each time for some minutes: perhaps it takes the other messages. */
const refusalsMax = 12;

/** Posts alerts in their order, one at a time. The worker never waits for the receiver. */
export type AlertPost = {
  add(change: AlertChange): void;
  /** Hears of every look at the projects. A receiver that awaits signs of life gets one if no alert is open. */
  look(state: Pick<WorkerState, 'projects'>): void;
  /** Resolves when every message is posted or has failed. */
  idle(): Promise<void>;
};

/**
 * Posts by `post`, which tries again by itself. A rejection is logged. A receiver that is away gets the message after the next look, and
 * one that refuses it gets the next message.
 */
export function alertPost(post: (message: AlertMessage) => Promise<void>, target: AlertTarget, log: Logger): AlertPost {
  const waiting: { message: AlertMessage; alert: string; refusals: number }[] = [];
  let underWay: Promise<void> | null = null;
  const empty = async (): Promise<void> => {
    for (let [next] = waiting; next; [next] = waiting) {
      try {
        await post(next.message);
      } catch (error) {
        const code = error instanceof AppError ? error.code : 'unexpected';
        log.warn({ alert: next.alert, code }, 'an alert could not be posted');
        const isAway = error instanceof AppError && error.retryable;
        if (isAway && (code === 'unreachable' || (next.refusals += 1) < refusalsMax)) break;
      }
      // The oldest may have been dropped meanwhile.
      if (waiting[0] === next) waiting.shift();
    }
    underWay = null;
  };
  const add = (message: AlertMessage | null, alert: string): void => {
    if (message === null) return;
    waiting.push({ message, alert, refusals: 0 });
    waiting.splice(0, waiting.length - waitingMax);
    underWay ??= empty();
  };
  return {
    add: (change) => add(alertMessage(target, change), change.alert.kind),
    look: ({ projects }) => {
      if (waiting.length > 0) underWay ??= empty();
      const isWell = projects.every(({ alerts }) => alerts.length === 0);
      if (isWell && underWay === null) add(signOfLife(target), 'none');
    },
    idle: async () => {
      await underWay;
    },
  };
}
