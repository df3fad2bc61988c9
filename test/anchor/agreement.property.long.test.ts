import { cpSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { anchorJudge, readPolicy } from '../../src/anchor/policy.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { anchor, policyText } from '../ledger/anchored-vectors.ts';
import { loadStandAlone, withoutSentences, writeSmallLedger, type Verdict } from '../ledger/ledger-fixture.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

const noon = Date.UTC(2026, 10, 20, 12);
const sizes = fc.subarray([5, 13, 20]);

/** One way of anchoring a ledger: when, and which checkpoints not. It may be anchored several times. */
const anchorings = fc.array(
  fc.record({
    atMs: fc.integer({ min: -120, max: 120 }).map((minutes) => noon + minutes * 60_000),
    uncosigned: sizes,
    unstamped: sizes,
    shape: fc.constantFrom({}, { names: 'sha1' as const }, { digest: 'sha512' as const }, { isForged: true }),
  }),
  { maxLength: 3 },
);
const policies = fc.record({
  from_entry: fc.nat(21),
  max_age_seconds: fc.constantFrom(0, 60, 3600, 86_400),
  needed: fc.constantFrom([1, 0], [0, 1], [1, 1]),
});

function inOrder({ problems, warnings }: Verdict): string[][] {
  return [problems, warnings].map((places) => places.map(({ where, problem }) => `${where} ${problem}`).toSorted());
}

it('both verifiers come to the same verdict by any policy, however a ledger was anchored', async () => {
  const alone = await loadStandAlone();
  const good = temporaryFolder();
  writeSmallLedger(good);
  const seen = new Set<string>();
  fc.assert(
    fc.property(anchorings, policies, fc.nat(5), (given, { needed, ...rest }, days) => {
      const folder = join(temporaryFolder(), 'ledger');
      cpSync(join(good, 'ledger'), folder, { recursive: true });
      const { time_stamps: stamps, witnesses } = JSON.parse(policyText(folder)) as Record<string, object>;
      for (const each of given) anchor(folder, each);
      const policy = policyText(folder, {
        ...rest,
        time_stamps: { ...stamps, needed: needed[0] },
        witnesses: { ...witnesses, needed: needed[1] },
      });
      const task = { folder, now: noon + days * 43_200_000 };
      const ours = withoutSentences(verifyLedger({ ...task, anchors: anchorJudge(folder, readPolicy(policy)) }));
      const theirs = alone({ ...task, policy });
      expect(inOrder(theirs)).toEqual(inOrder(ours));
      expect(theirs.ok).toBe(ours.ok);
      for (const { problem } of ours.problems) seen.add(problem);
    }),
    { numRuns: 120 },
  );
  expect([...seen].toSorted()).toEqual(
    expect.arrayContaining(['anchored_late', 'bad_time_stamp', 'dated_after_anchor', 'nothing_anchored']),
  );
});
