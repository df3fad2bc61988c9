import { createRequire } from 'node:module';
import { pino, type DestinationStream, type Logger } from 'pino';
import type PinoPretty from 'pino-pretty';

export type { DestinationStream, Logger } from 'pino';

/** To the start of the line, and clears it: a progress bar may stand there. */
const clearedLine = '\r\u001B[2K';

/** What a logger needs. `isTerminal` chooses lines for people instead of JSON. */
export type LoggerOptions = { level: string; isTerminal: boolean; destination?: DestinationStream | undefined };

/** The logger, on standard error. Messages are static; no field holds personal data, a key, a payload or a query. */
export function createLogger({ level, isTerminal, destination }: LoggerOptions): Logger {
  const stderr = destination ?? standardError();
  const stream = isTerminal ? linesForPeople(stderr) : stderr;
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}

/** Standard error. What cannot be written there is lost, and nothing else: a job does not fail because its log is full. */
function standardError(): DestinationStream {
  const stderr = pino.destination({ dest: 2, sync: true });
  stderr.on('error', () => undefined);
  return stderr;
}

/** An event in one line: its message, then its fields as `name=value`. */
export function eventText({ level: _level, time: _time, msg, ...fields }: Record<string, unknown>): string {
  const texts = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [msg, ...texts].join(' ');
}

/** Writes each event as one line for people. */
function linesForPeople(destination: DestinationStream): DestinationStream {
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
  const toLine = prettyFactory({
    ignore: 'pid,hostname',
    translateTime: 'UTC:HH:MM:ss"Z"',
    colorize: true,
    hideObject: true,
    messageFormat: eventText,
  });
  return { write: (event) => destination.write(`${clearedLine}${toLine(event)}`) };
}
