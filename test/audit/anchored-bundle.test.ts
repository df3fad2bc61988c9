import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { anchor, policyText } from '../ledger/anchored-vectors.ts';
import { verifyBundle } from '../../docs/verifier/verify.mjs';
import { bundleFolder, bundleOf, checkBytes } from './bundle-fixture.ts';

const anchoredMs = Date.UTC(2026, 10, 22);
const aYear = 400 * 86_400;

let dataDir: string;
let keys: string;
let text: string;
beforeAll(() => {
  ({ dataDir, keys } = bundleFolder());
  anchor(join(dataDir, 'ledger'), { atMs: anchoredMs });
  ({ text } = bundleOf(dataDir, 1));
});
afterAll(() => rmSync(dataDir, { recursive: true }));

const policy = (changes: Record<string, unknown> = {}): string =>
  policyText(join(dataDir, 'ledger'), { max_age_seconds: aYear, ...changes });

function problemsOf(bundle: string, policyGiven: string): string[] {
  const { problems } = verifyBundle({ text: bundle, policy: policyGiven });
  return [...new Set(problems.map(({ problem }) => problem))];
}

describe('a bundle with anchors', () => {
  it('verifies by a policy, which names its first key', () => {
    const verdict = verifyBundle({ text, policy: policy() });
    expect(verdict).toMatchObject({ ok: true, problems: [], warnings: [] });
    expect(verifyBundle({ text })).toMatchObject({ ok: true });
    expect(problemsOf(text, policyText(join(dataDir, 'ledger'), { max_age_seconds: aYear }, 1))).toEqual([
      'wrong_public_key',
    ]);
  });

  it('does not verify after a change of a byte', () => {
    expect(checkBytes({ text, keys, policy: policy() }, 199)).toBeGreaterThan(60);
  }, 120_000);

  it('is refused without its time stamp, with one of another text, and where it was anchored late', () => {
    const { time_stamps: stamps, ...rest } = JSON.parse(text) as { time_stamps: string[] };
    expect(stamps.length).toBeGreaterThan(0);
    expect(problemsOf(`${canonicalJson(rest)}\n`, policy())).toEqual(['not_anchored']);
    const foreign = { ...rest, time_stamps: [Buffer.from('no token').toString('base64'), ...stamps] };
    expect(problemsOf(`${canonicalJson(foreign)}\n`, policy())).toEqual(['bad_time_stamp']);
    expect(problemsOf(`${canonicalJson({ ...rest, time_stamps: [] })}\n`, policy())).toEqual(['not_a_bundle']);
    expect(problemsOf(text, policy({ max_age_seconds: 60 }))).toEqual(['anchored_late']);
    expect(problemsOf(text, policy({ max_age_seconds: 60, from_entry: 1_000_000 }))).toEqual([]);
  });
});
