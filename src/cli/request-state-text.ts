import { codeText, secondText } from '../core/words.ts';
import { stateText } from '../ledger/vocabulary-words.ts';
import type { ErasureRequest } from '../mirror/erasure-requests.ts';

/** A request as far as its state is told: `reason` and what it waits for, where the command knows them. */
type Stated = Pick<ErasureRequest, 'state'> &
  Partial<Pick<ErasureRequest, 'reason' | 'waitsFor' | 'waitsSince' | 'erasedBy'>>;

/** The state of an erasure request, and why it does not go on by itself: in the same words in every command. */
export function requestStateText({
  state,
  reason = null,
  waitsFor = null,
  waitsSince = null,
  erasedBy = null,
}: Stated): string {
  const code = reason ?? waitsFor;
  if (code === null) return stateText(state);
  const since = reason === null && waitsSince !== null ? ` since ${secondText(waitsSince)}` : '';
  const earlier = erasedBy === null ? '' : `, by request ${erasedBy}`;
  return `${stateText(state)}: ${codeText(code)}${since}${earlier}`;
}
