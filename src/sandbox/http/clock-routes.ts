import type { Hono } from 'hono';
import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { isoToMicros } from '../../core/time.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import { checkInput, readJsonBody } from './check-input.ts';
import type { Environment } from './endpoint-routes.ts';
import { Refusal } from './refusal.ts';

const ClockMove = z.union([
  z.strictObject({ now: z.string() }),
  z.strictObject({ advanceSeconds: z.number().min(0) }),
]);

const lastTimeMs = Date.UTC(9999, 11, 31);

/** `GET` and `POST /__sandbox/clock`: tell the service's time, and move it forward. No part of the document. */
export function addClockRoutes(app: Hono<Environment>, clock: SandboxClock): void {
  app.get('/__sandbox/clock', (context) => context.json({ now: isoTime(clock.now()) }));
  app.post('/__sandbox/clock', async (context) => {
    const move = checkInput(ClockMove, await readJsonBody(context.req.raw));
    const batches = clock.moveTo(targetMs(move, clock.now()));
    if (!batches) throw new Refusal('invalidInput', 'The clock never goes backwards.', 'now');
    return context.json({ now: isoTime(clock.now()), batches: batches.map(isoTime) });
  });
}

function targetMs(move: z.infer<typeof ClockMove>, nowMs: number): number {
  const ms =
    'now' in move
      ? Number((isoToMicros(move.now) ?? -1n) / 1000n)
      : nowMs + Math.round(move.advanceSeconds * 1000);
  if (ms >= 0 && ms <= lastTimeMs) return ms;
  throw new Refusal(
    'invalidInput',
    'Not an ISO 8601 date-time between now and the year 9999.',
    Object.keys(move)[0],
  );
}
