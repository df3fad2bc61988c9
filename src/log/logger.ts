import { createRequire } from 'node:module';
import { pino, type DestinationStream, type Logger } from 'pino';
import type PinoPretty from 'pino-pretty';

export type { Logger } from 'pino';

/** What a logger needs. `isTerminal` chooses lines for people instead of JSON. */
export type LoggerOptions = { level: string; isTerminal: boolean; destination?: DestinationStream };

/** The logger, on standard error. Messages are static; no field holds personal data, a key, a payload or a query. */
export function createLogger({ level, isTerminal, destination }: LoggerOptions): Logger {
  const stream = isTerminal
    ? loadPretty()({
        destination: 2,
        sync: true,
        ignore: 'pid,hostname',
        translateTime: 'UTC:HH:MM:ss"Z"',
        colorize: true,
        // One line an event.
        hideObject: true,
        messageFormat: eventText,
      })
    : (destination ?? pino.destination({ dest: 2, sync: true }));
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}

/** An event in one line: its message, then its fields as `name=value`. */
export function eventText({ level: _level, time: _time, msg, ...fields }: Record<string, unknown>): string {
  const texts = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [msg, ...texts].join(' ');
}

function loadPretty(): typeof PinoPretty {
  return createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
}
