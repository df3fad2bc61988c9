import { jsonAnswer, refusalAnswer, type Answer } from '../http/answer.ts';
import type { Refusal } from '../http/refusal.ts';

/** A refusal in one of the shapes that live services write it in, turn by turn; half have the usual one. */
export function liveRefusal(refusal: Refusal, requestNumber: number): Answer {
  const { status, body } = refusal;
  switch (requestNumber % 6) {
    case 1:
      return jsonAnswer(status, JSON.stringify({ error: body.detail }));
    case 3:
      return jsonAnswer(status, JSON.stringify({ success: false }));
    case 5:
      return { status, headers: { 'Content-Length': '0' }, body: '' };
    default:
      return refusalAnswer(refusal);
  }
}
