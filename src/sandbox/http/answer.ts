import { type ErrorBody, refusals } from '../../contract/error-body.ts';

type RefusalName = keyof typeof refusals;

/** Thrown while a request is answered, to answer it with one of the known refusals instead. */
export class Refusal extends Error {
  readonly status: (typeof refusals)[RefusalName]['status'];
  readonly body: ErrorBody;

  /** `attr` names the wrong parameter or field. */
  constructor(name: RefusalName, detail: string, attr: string | null = null) {
    super(detail);
    const { status, type, code } = refusals[name];
    this.status = status;
    this.body = { type, code, detail, attr };
  }
}

/** The refusal for an unknown id, short id or project. */
export function notFound(): Refusal {
  return new Refusal('notFound', 'Not found.');
}

/** A whole answer before it is sent. An empty body means no body. */
export type Answer = { status: number; headers: Record<string, string>; body: string | Buffer };

/** An answer whose body is JSON text. */
export function jsonAnswer(status: number, text: string): Answer {
  return { status, headers: { 'Content-Type': 'application/json' }, body: text };
}

/** A refusal in the documented form. */
export function refusalAnswer({ status, body }: Refusal): Answer {
  return jsonAnswer(status, JSON.stringify(body));
}

/** The answer as the server sends it. */
export function toResponse({ status, headers, body }: Answer): Response {
  if (typeof body === 'string') return new Response(body === '' ? null : body, { status, headers });
  return new Response(new Uint8Array(body), { status, headers });
}

/** The 429 above a rate limit: `Retry-After` is in whole seconds, never too few. */
export function throttledAnswer(waitMs: number): Answer {
  const seconds = Math.ceil(waitMs / 1000);
  const refusal = new Refusal(
    'throttled',
    `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? '' : 's'}.`,
  );
  const answer = refusalAnswer(refusal);
  answer.headers['Retry-After'] = String(seconds);
  return answer;
}
