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
      })
    : (destination ?? pino.destination({ dest: 2, sync: true }));
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}

function loadPretty(): typeof PinoPretty {
  return createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
}
