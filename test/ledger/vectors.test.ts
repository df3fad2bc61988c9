import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { verify, type Verdict } from '../../docs/verifier/verify.mjs';

const published = fileURLToPath(new URL('../../docs/verifier/vectors', import.meta.url));

type Vector = {
  name: string;
  now: string;
  kept: { publicKey: string | null; checkpoint: string | null; policy: string | null };
  verdict: Verdict;
};
const vectors = JSON.parse(readFileSync(join(published, 'vectors.json'), 'utf8')) as Vector[];

/** The order of the lists says nothing. */
function inOrder(verdict: Verdict): Verdict {
  const sorted = (places: Verdict['problems']): Verdict['problems'] =>
    places.toSorted((a, b) => (`${a.where} ${a.problem}` < `${b.where} ${b.problem}` ? -1 : 1));
  return { ...verdict, problems: sorted(verdict.problems), warnings: sorted(verdict.warnings) };
}

describe('the published test vectors', () => {
  it('have good and damaged ledgers', () => {
    expect(vectors.filter(({ verdict }) => verdict.ok).length).toBeGreaterThan(4);
    expect(vectors.filter(({ verdict }) => !verdict.ok).length).toBeGreaterThan(12);
  });

  it.each(vectors)('$name: the verifier gives its verdict', ({ name, now, kept, verdict }) => {
    const { publicKey, checkpoint, policy } = kept;
    const given = {
      publicKey: publicKey ?? undefined,
      checkpoint: checkpoint ?? undefined,
      policy: policy ?? undefined,
    };
    const found = verify({ folder: join(published, name), now: Date.parse(now), ...given });
    expect(inOrder(found)).toEqual(inOrder(verdict));
  });
});
