import { verdictWords } from '../../docs/verifier/verdict-words.mjs';
import type { Place } from '../../docs/verifier/verify.mjs';

/** One thing found. `where`: `entry 17` (from 0), `checkpoint 000000120`, `public keys`, `kept checkpoint`, … */
export type Finding = Place & { sentence: string };

/** A finding with its sentence. */
export function finding({ where, problem }: Place): Finding {
  return { where, problem, sentence: verdictWords(problem) };
}
