import type { Refusal } from './refusal.ts';

/** A whole answer before it is sent. An empty body is none. */
export type Answer = { status: number; headers: Record<string, string>; body: string | Buffer };

/** An answer whose body is JSON text. */
export function jsonAnswer(status: number, text: string): Answer {
  return { status, headers: { 'Content-Type': 'application/json' }, body: text };
}

/** A refusal as the document's services write it. */
export function refusalAnswer({ status, body }: Refusal): Answer {
  return jsonAnswer(status, JSON.stringify(body));
}

/** The answer as the server sends it. */
export function toResponse({ status, headers, body }: Answer): Response {
  if (typeof body === 'string') return new Response(body === '' ? null : body, { status, headers });
  return new Response(new Uint8Array(body), { status, headers });
}
