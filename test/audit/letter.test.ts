import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { letterLanguages, letterText, letterWords } from '../../src/audit/letter.ts';
import type { Certificate } from '../../src/erasure/proof/certificate.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { readHistories } from '../../src/ledger/histories.ts';
import { lifeOf, requestId } from '../ledger/ledger-fixture.ts';

const golden = JSON.parse(readFileSync('test/golden/certificate.json', 'utf8')) as Certificate;
const entries = lifeOf(1, 1)
  .flat()
  .map((record, seq) => Object.assign({ seq, at: '2026-11-20T12:00:00.000Z' }, record));
const history = readHistories(entries as LedgerEntry[]).of(requestId(1));
if (!history) throw new Error('a life without a history');
const issued = { certificate: golden, sha256: 'a'.repeat(64), history };
const now = '2027-02-03T09:00:00.000Z';
/** The results that the verifier allows beside each target at the service. */
const allowed = Object.fromEntries(
  [...readFileSync('docs/verifier/verify.mjs', 'utf8').matchAll(/'upstream\.(\w+)':\s+'([^']+)'/g)].map(
    ([, target = '', results = '']) => [target, results.split(' ').filter((result) => result !== 'not_applicable')],
  ),
);

test.each(letterLanguages)('a letter in %s has a sentence for whatever a certificate can say', (language) => {
  const words = letterWords[language];
  for (const target of ['person', 'events', 'recordings'] as const) {
    expect(allowed[target]?.length).toBeGreaterThan(2);
    expect(Object.keys(words[target]).toSorted()).toEqual(allowed[target]?.toSorted());
  }
  const text = letterText(issued, { language, now });
  expect(text).toContain(golden.request);
  expect(text).toContain(issued.sha256);
  expect(letterText({ ...issued, history: { ...history, isSharedLeft: true } }, { language, now })).toContain(
    words.shared,
  );
  for (const { target, result } of golden.targets)
    if (target === 'upstream.events') expect(text).toContain(words.events[result]);
  // The other languages say the same with as many lines.
  expect(text.split('\n')).toHaveLength(letterText(issued, { language: 'en', now }).split('\n').length);
});

test('a letter says no more than the certificate: what is late, what was only observed, what a lock keeps', () => {
  const english = letterWords.en;
  const letterOf = (change: Partial<Certificate>, more: Partial<typeof history> = {}): string =>
    letterText(
      { ...issued, certificate: { ...golden, ...change }, history: { ...history, ...more } },
      { language: 'en', now },
    );
  expect(letterOf({})).toContain('\nFebruary 3, 2027\n');
  expect(letterOf({})).not.toContain('longer than the day');
  const reached = { entry: 1, at: now, sha256: null, reachedAt: now };
  const second = { ...reached, generation: 2 };
  expect(letterOf({ is_late: true }, { certified: [second] })).toContain('longer than the day we had set (');
  // A backup that was put back opened it again.
  expect(letterOf({ is_late: true }, { certified: [...history.certified, second] })).not.toContain(
    'longer than the day',
  );
  const seen = golden.targets.map((end) =>
    end.target === 'mirror' ? { ...end, assurance: 'observed' as const } : end,
  );
  expect(letterOf({ targets: seen })).toContain('nothing of you is stored');
  const [first] = golden.targets;
  if (!first) throw new Error('a certificate without targets');
  const locked = [...golden.targets, { ...first, target: 'bucket' as const, result: 'locked' as const }];
  const elsewhere = {
    ...first,
    target: 'copies' as const,
    result: 'absent' as const,
    assurance: 'not_verifiable' as const,
  };
  expect(letterOf({ targets: [...golden.targets, elsewhere] })).toContain(english.copies);
  expect(letterOf({ targets: locked })).toContain(english.bucket.locked);
  // What a recipient has said since the certificate counts too.
  const silent = { consumers: [{ consumer: 'warehouse', acknowledged_at: null }] };
  const told = { expected: [], seen: {} };
  const acknowledged = new Map([['warehouse', { ...told, at: '2026-11-02T00:00:00.000Z' }]]);
  expect(letterOf(silent, { acknowledged, consumers: new Map([['crm', { ...told, at: null }]]) })).toContain(
    '- crm: has not told us yet that it did\n- warehouse: has told us that it did (recorded on November 2, 2026)\n',
  );
  expect(letterOf({ basis: 'consumer_request' })).toContain('California');
  expect(() => letterOf({ origin: 'upstream' })).toThrow('nobody asked for it');
});
