import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { toResponse, type Answer } from '../http/answer.ts';
import type { PlannedFault } from './fault-plan.ts';

/** A response that is being sent, and the status that the caller sees; 0 for none. */
export type Sent = { response: Response; status: number };

/** Sends an answer whole. */
export function send(answer: Answer): Sent {
  return { response: toResponse(answer), status: answer.status };
}

/** Ends the connection without an answer. */
export function reset(outgoing: ServerResponse): Sent {
  outgoing.socket?.resetAndDestroy();
  return { response: RESPONSE_ALREADY_SENT, status: 0 };
}

/** Sends an answer as a fault of the connection spoils it. With any other fault, sends it whole. */
export async function sendBadly(
  answer: Answer,
  { fault, holdMs, random }: PlannedFault,
  outgoing: ServerResponse,
): Promise<Sent> {
  if (fault === 'cut') return cut(answer, outgoing);
  if (fault === 'slow') return sendSlowly(answer, random.int(1, Math.ceil(holdMs)), random.oneIn(2));
  if (fault !== 'timeout-after-act') return send(answer);
  await delay(holdMs);
  return reset(outgoing);
}

/** Announces the whole body and sends half of it. */
function cut({ status, headers, body }: Answer, outgoing: ServerResponse): Sent {
  const bytes = Buffer.from(body);
  if (bytes.length === 0) return reset(outgoing);
  outgoing.writeHead(status, { ...headers, 'Content-Length': bytes.length });
  outgoing.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => outgoing.destroy());
  return { response: RESPONSE_ALREADY_SENT, status };
}

/** The headers come late, or the body drips. */
async function sendSlowly(answer: Answer, overMs: number, drips: boolean): Promise<Sent> {
  if (!drips || answer.body.length === 0) {
    await delay(overMs);
    return send(answer);
  }
  const bytes = Buffer.from(answer.body);
  const headers = { ...answer.headers, 'Content-Length': String(bytes.length) };
  const response = new Response(ReadableStream.from(drip(bytes, overMs)), { status: answer.status, headers });
  return { response, status: answer.status };
}

async function* drip(bytes: Buffer, overMs: number): AsyncGenerator<Uint8Array> {
  const parts = 8;
  const size = Math.ceil(bytes.length / parts);
  for (let at = 0; at < bytes.length; at += size) {
    await delay(overMs / parts);
    yield bytes.subarray(at, at + size);
  }
}
