/** An answer to a call: its body is JSON. `closes`: whether the connection ends, since the rest of the call is not read. */
export type Answer = { status: number; body: string; headers?: Readonly<Record<string, string>>; closes?: boolean };

/** Why a call is not done: its status, and one sentence that says what to do. No sentence depends on whether a person is known. */
export const problems = {
  not_found: [404, 'there is nothing at this address; see docs/intake.md'],
  method_not_allowed: [405, 'this address takes another method; the header Allow names it'],
  not_signed: [403, 'the message is not one that this agent signed for this business, for now'],
  not_authorized: [401, 'send the key of a sender as `Authorization: Bearer`; intake.senders names its SHA-256'],
  too_many: [429, 'this sender has reached its limit; send it again after the seconds in Retry-After'],
  too_large: [413, 'the body is larger than 65,536 bytes; name one person in a request'],
  not_json_type: [415, 'send the body as `Content-Type: application/json`, without an encoding'],
  no_idempotency_key: [
    400,
    'send a header Idempotency-Key of 16 to 200 printable characters, another one for each request',
  ],
  not_json: [400, 'the body is not JSON in UTF-8 in which each name stands once'],
  not_a_request: [400, 'the body is not as docs/intake.openapi.json has it; write identifiers as the service has them'],
  kind_not_allowed: [403, 'this sender may not name people by identifiers of this kind; see intake.senders'],
  other: [409, 'another request was sent with this Idempotency-Key; use a new one'],
  used_up: [409, 'this request was cancelled again and again; use a new Idempotency-Key'],
  no_such_request: [404, 'this sender has made no request of this id'],
  unavailable: [
    503,
    'it is not known yet whether this is done; send the same once more after the seconds in Retry-After',
  ],
  failed: [500, 'this failed; the log of the worker says why'],
} as const satisfies Record<string, readonly [number, string]>;

/** The code of a problem. */
export type Problem = keyof typeof problems;

/** The answer for a problem (RFC 9457). */
export function problem(code: Problem, headers: Readonly<Record<string, string>> = {}, closes = false): Answer {
  const [status, detail] = problems[code];
  const body = jsonText({ title: code, status, detail });
  return { status, body, headers: { ...headers, 'Content-Type': 'application/problem+json' }, closes };
}

/** A line of JSON. */
export function jsonText(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** The header that says when to come again. */
export function retryAfter(ms: number): Record<string, string> {
  return { 'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))) };
}
