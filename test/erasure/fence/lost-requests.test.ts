import { expect, test } from 'vitest';
import { findDifferencesIn } from '../../../src/erasure/bound/differences.ts';
import { bringUp, endLostRequests } from '../../../src/erasure/fence/restore-guard.ts';
import { openLedger } from '../../../src/ledger/ledger.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { lifeOf, requestId } from '../../ledger/ledger-fixture.ts';
import { openTestMirror, stillClock } from '../../mirror/open-test-mirror.ts';
import { insertRequest } from '../../../src/mirror/erasure-requests.ts';

test('requests that only the ledger knows are told, and ended once', async () => {
  const { db, dataDir } = openTestMirror();
  const ledger = openLedger(dataDir, stillClock);
  // One that was only received, one that was scoped, one that the mirror knows, and one that is fenced.
  for (const [n, steps] of [
    [1, 1],
    [2, 2],
    [3, 1],
    [4, 5],
  ] as const)
    for (const records of lifeOf(n, 1).slice(0, steps)) ledger.append(records);
  const at = '2026-01-01T00:00:00.000Z';
  insertRequest(db, {
    id: requestId(3),
    generation: 1,
    isAccess: false,
    origin: 'manual',
    basis: 'objection',
    authorisedBy: null,
    deleteEvents: true,
    receivedAt: at,
    dueAt: at,
    box: Buffer.from('box'),
  });
  const context = { db, clock: stillClock, ledger: () => ledger };
  const toldLost = async (): Promise<string[]> =>
    (await findDifferencesIn(dataDir, db)).flatMap(({ id, sentence }) =>
      sentence.includes('whom it means') ? id : [],
    );
  // Also before the mirror has taken up what the ledger says, as after a kill.
  expect(await toldLost()).toEqual([requestId(1), requestId(2)]);
  bringUp(context);
  expect(await toldLost()).toEqual([requestId(1), requestId(2)]);
  expect(endLostRequests(context)).toEqual({ lost: [requestId(1), requestId(2)], lostDeletions: 0 });
  expect(await toldLost()).toEqual([]);
  expect(endLostRequests(context)).toEqual({ lost: [], lostDeletions: 0 });
  ledger.checkpoint();
  expect(verifyLedger({ folder: `${dataDir}/ledger` }).problems).toEqual([]);
});

test('a deletion at the service whose request is lost is ended and counted, and nobody is to add it again', () => {
  const { db, dataDir } = openTestMirror();
  const ledger = openLedger(dataDir, stillClock);
  const [[received] = []] = lifeOf(1, 1);
  if (received?.type !== 'received') throw new Error('a life that begins otherwise');
  ledger.append([{ ...received, origin: 'upstream', basis: 'deleted_upstream' }]);
  const context = { db, clock: stillClock, ledger: () => ledger };
  bringUp(context);
  expect(endLostRequests(context)).toEqual({ lost: [], lostDeletions: 1 });
  expect([...ledger.entries()].map(({ type }) => type)).toEqual(['received', 'cancelled']);
});
