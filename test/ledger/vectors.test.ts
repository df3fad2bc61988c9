import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { anchorJudge, readPolicy } from '../../src/anchor/policy.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { loadStandAlone, withoutSentences, type Verdict } from './ledger-fixture.ts';

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

  it.each(vectors)('$name: both verifiers give its verdict', async ({ name, now, kept, verdict }) => {
    const task = {
      folder: join(published, name),
      publicKey: kept.publicKey ?? undefined,
      checkpoint: kept.checkpoint ?? undefined,
      now: Date.parse(now),
    };
    const anchors = anchorJudge(task.folder, kept.policy === null ? undefined : readPolicy(kept.policy));
    expect(inOrder(withoutSentences(verifyLedger({ ...task, anchors })))).toEqual(inOrder(verdict));
    expect(inOrder((await loadStandAlone())({ ...task, policy: kept.policy ?? undefined }))).toEqual(inOrder(verdict));
  });
});
