import { Dispatcher } from 'undici';
import { chunksOf, type RawAnswer } from './fuzzed-answers.ts';

/** Stands for the connections of undici: gives each request the answer that is set, in its chunks, without any socket. */
export class FuzzedDispatcher extends Dispatcher {
  answer: RawAnswer | undefined;

  override dispatch(_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { answer } = this;
    if (!answer) throw new Error('no answer is set');
    // What the reader of the answer has asked for meanwhile.
    const asked: { isPaused: boolean; stopped?: Error; goOn?: () => void } = { isPaused: false };
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      rawHeaders: null,
      rawTrailers: null,
      abort: (reason: Error) => {
        asked.stopped = reason;
        asked.goOn?.();
      },
      pause: () => {
        asked.isPaused = true;
      },
      resume: () => {
        asked.isPaused = false;
        asked.goOn?.();
      },
    };
    const play = async (): Promise<void> => {
      handler.onRequestStart?.(controller, {});
      handler.onResponseStart?.(controller, answer.status, headersOf(answer), '');
      for (const chunk of chunksOf(answer)) {
        if (asked.stopped) break;
        handler.onResponseData?.(controller, chunk);
        if (asked.isPaused) await new Promise<void>((resolve) => (asked.goOn = resolve));
      }
      const torn =
        answer.end === 'whole' ? asked.stopped : Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' });
      if (torn) handler.onResponseError?.(controller, torn);
      else handler.onResponseEnd?.(controller, {});
    };
    queueMicrotask(() => void play());
    return true;
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }

  override destroy(): Promise<void> {
    return Promise.resolve();
  }
}

/** The headers by their names; one that stands twice has a list of values. */
function headersOf({ headers }: RawAnswer): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {};
  for (const [name, value] of headers) found[name] = name in found ? [found[name] ?? '', value].flat() : value;
  return found;
}
