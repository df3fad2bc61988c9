import { expect, it } from 'vitest';
import { recordOrder } from '../../../docs/verifier/verify.mjs';
import { reopenRequest, reopenUnnamed } from '../../../src/erasure/request/reopen.ts';
import { record } from '../../../src/erasure/request/together.ts';
import { openLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../../src/ledger/record.ts';
import { setEpoch } from '../../../src/mirror/fence.ts';
import { lifeOf, requestId, tickingClock } from '../../ledger/ledger-fixture.ts';
import { openTestMirror } from '../../mirror/open-test-mirror.ts';

const request = requestId(1);
const requests = [request];
const scan: LedgerRecord = { type: 'scan', requests, phase: 'verify', files: 1, bytes: 1, needles: 1, hits: 0 };

/** A request that has come to its end once. */
function openEnded() {
  const { db, dataDir } = openTestMirror();
  setEpoch(db, 1);
  const clock = tickingClock();
  const ledger = openLedger(dataDir, clock);
  const context = { db, clock, ledger: (): Ledger => ledger };
  for (const records of lifeOf(1, 1)) record(context, ...records);
  return { ledger, context };
}

it.each<[what: string, then: LedgerRecord[], generations: number[]]>([
  ['is not fenced yet goes on', [], [2]],
  ['was proved again is ended', [scan, { type: 'locally_verified', request, generation: 2 }], [2, 3]],
  ['was certified is ended', [{ type: 'certified', request, generation: 2, certificate: null }], [2, 3]],
  [
    'is sealed is ended',
    [
      { type: 'attention', request, generation: 2, target: 'mirror', reason: 'life_exceeded' },
      { type: 'sealed', request, generation: 2 },
    ],
    [2, 3],
  ],
])('a generation without identifiers that %s, and the order of the records is right', (_what, then, generations) => {
  const { ledger, context } = openEnded();
  reopenUnnamed(context, request, 'mirror', 'residue_found');
  record(context, ...then);
  reopenUnnamed(context, request, 'mirror', 'residue_found');
  // Named, and once more after a kill.
  reopenRequest(context, request, 'residue_found');
  reopenRequest(context, request, 'residue_found');
  const entries = [...ledger.entries()];
  const opened = entries.flatMap((entry) => (entry.type === 'reopened' ? [entry.generation] : []));
  expect([...new Set(opened)]).toEqual(generations);
  expect(opened).toHaveLength(3);
  const order = recordOrder();
  expect(entries.flatMap((entry) => order(entry) ?? [])).toEqual([]);
});
