import { expect, test } from 'vitest';
import { eachTogether } from '../../../src/erasure/request/together.ts';
import { collectHistories } from '../../../src/ledger/histories.ts';
import type { LedgerRecord } from '../../../src/ledger/record.ts';
import { openTestMirror, stillClock } from '../../mirror/open-test-mirror.ts';

/** A context of a mirror and a ledger that only remembers what is appended. */
function remembering() {
  const { db } = openTestMirror();
  const appended: number[] = [];
  const abort = new AbortController();
  const ledger = {
    append: (records: Iterable<LedgerRecord>) => void appended.push([...records].length),
    entries: () => [],
    requestEntries: () => 0,
    rootOfFirst: () => '',
    histories: collectHistories(),
  };
  return { context: { db, clock: stillClock, ledger: () => ledger, signal: abort.signal }, appended, abort };
}

const record: LedgerRecord = { type: 'unfenced', request: 'x', generation: 1 } as unknown as LedgerRecord;

test('steps of many requests are taken in parts, and other work goes on between them', async () => {
  const { context, appended } = remembering();
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  const counts: number[] = [];
  const items = Array.from({ length: 600 }, (_item, index) => index);
  const results = await eachTogether(context, items, (own, item, index) => {
    if (index % 250 === 0) counts.push(appended.length);
    const until = performance.now() + 0.02;
    while (performance.now() < until);
    own.ledger().append([record]);
    return item === index;
  });
  clearInterval(timer);
  expect(results).toEqual(items.map(() => true));
  expect(appended).toEqual([250, 250, 100]);
  expect(counts).toEqual([0, 1, 2]);
  expect(turns).toBeGreaterThan(0);
});

test('an abort is heard between the parts: what is done stays done, and no more is done', async () => {
  const { context, appended, abort } = remembering();
  setTimeout(() => abort.abort(new Error('stop')), 0);
  const until = performance.now() + 5;
  while (performance.now() < until);
  const items = Array.from({ length: 600 }, (_item, index) => index);
  await expect(eachTogether(context, items, (own) => own.ledger().append([record]))).rejects.toThrow('stop');
  expect(appended).toEqual([250]);
});
