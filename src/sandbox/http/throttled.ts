import { refusalAnswer, type Answer } from './answer.ts';
import { Refusal } from './refusal.ts';

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
