import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { otlpBody, type Attributes, type EndedSpan } from './otlp-encoding.ts';
import type { OtlpTarget } from './otlp-target.ts';

/** Adds to what is known of a span that is under way. */
export type SetAttributes = (attributes: Attributes) => void;

/** Tells how long things take, and within which others. */
export type Tracer = {
  /** Does work as a span, within the span that it is done in, if any. Settles as the work does. */
  span<T>(
    name: string,
    about: { kind: EndedSpan['kind']; attributes: Attributes },
    work: (set: SetAttributes) => Promise<T>,
  ): Promise<T>;
  /** Sends what is left, for a moment at most. */
  close(): Promise<void>;
};

/** A tracer that tells nobody. */
export const silentTracer: Tracer = {
  span: (_name, _about, work) => work(() => undefined),
  close: () => Promise.resolve(),
};

/** Where spans go, and who hears how many could not be sent. */
export type TracerParts = {
  target: OtlpTarget;
  version: string;
  clock: Pick<Clock, 'now'>;
  onLost: (spans: number, reason: string) => void;
};

const queuedMax = 2048;
const batchMax = 512;
const sendEveryMs = 5_000;
const sendTimeoutMs = 10_000;
const closeTimeoutMs = 2_000;

/**
 * A tracer that sends its spans to a collector. Work never waits for it: what the collector does not take in time is
 * lost, and counted.
 */
export function createTracer({ target, version, clock, onLost }: TracerParts): Tracer {
  const current = new AsyncLocalStorage<{ traceId: string; spanId: string }>();
  const resource = { 'service.name': target.serviceName, 'service.version': version };
  let queue: EndedSpan[] = [];
  let lost = 0;
  let sending: Promise<void> | undefined;

  const send = async (spans: readonly EndedSpan[], timeoutMs: number): Promise<void> => {
    try {
      const { ok, status, body } = await fetch(target.url, {
        method: 'POST',
        headers: { ...target.headers, 'Content-Type': 'application/json' },
        body: otlpBody(spans, resource),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      await body?.cancel();
      if (!ok) onLost(spans.length, `status ${status}`);
    } catch {
      onLost(spans.length, 'no answer');
    }
  };
  const sendAll = async (timeoutMs: number): Promise<void> => {
    if (lost > 0) onLost(lost, 'too many');
    lost = 0;
    const waiting = queue;
    queue = [];
    for (let start = 0; start < waiting.length; start += batchMax)
      await send(waiting.slice(start, start + batchMax), timeoutMs);
  };
  const timer = setInterval(() => {
    // One after the other: a slow collector is not asked for more.
    sending ??= sendAll(sendTimeoutMs).finally(() => (sending = undefined));
  }, sendEveryMs);
  timer.unref();

  return {
    span: async (name, { kind, attributes }, work) => {
      const parent = current.getStore();
      const ids = { traceId: parent?.traceId ?? randomHex(16), spanId: randomHex(8) };
      const startedAtMs = clock.now();
      let known = attributes;
      const end = (hasFailed: boolean): void => {
        const parentSpanId = parent?.spanId ?? null;
        // A clock that was set back must not make a span of less than no time.
        const endedAtMs = Math.max(startedAtMs, clock.now());
        if (queue.length >= queuedMax) lost += 1;
        else
          queue.push({
            ...ids,
            parentSpanId,
            name,
            kind,
            startedAtMs,
            endedAtMs,
            attributes: known,
            hasFailed,
          });
      };
      try {
        const result = await current.run(ids, () =>
          work((more) => {
            known = { ...known, ...more };
          }),
        );
        end(false);
        return result;
      } catch (error) {
        known = { ...known, 'error.type': error instanceof AppError ? error.code : 'unexpected' };
        end(true);
        throw error;
      }
    },
    close: async () => {
      clearInterval(timer);
      await sending;
      await sendAll(closeTimeoutMs);
    },
  };
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
