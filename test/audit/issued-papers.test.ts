import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { reportRequest } from '../../src/audit/reported-request.ts';
import { verifyReports } from '../../src/audit/verify-reports.ts';
import { issueCertificate } from '../../src/erasure/proof/certificate-file.ts';
import { newBox, subjectMac } from '../../src/erasure/request/box.ts';
import { receiptText, signReceipts } from '../../src/erasure/request/receipt.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { adviceText } from '../../src/ledger/vocabulary-words.ts';
import { runCliHere } from '../cli/run-cli.ts';
import { issuing, lifeOf, plantKeys, requestId, tickingClock } from '../ledger/ledger-fixture.ts';
import { freshFolder, openTestMirror } from '../mirror/open-test-mirror.ts';

const id = requestId(1);
const about = { request: id, generation: 1 };
const box = newBox([{ kind: 'email', value: 'ann@canary.example' }], nobody);

const named = (record: LedgerRecord): LedgerRecord =>
  record.type === 'received' ? { ...record, subject: subjectMac(box) } : record;

/** The life of Ann's request up to its certificate. */
const untilCertified = lifeOf(1, 1).flat().slice(0, -2).map(named);

const nextGeneration = (record: LedgerRecord): LedgerRecord =>
  'generation' in record
    ? { ...record, generation: 2, ...(record.type === 'fencing' || record.type === 'fenced' ? { epoch: 2 } : {}) }
    : record;

/** A data folder whose ledger has the life of Ann's request, and what commands say of it. */
function papersOf(life: readonly LedgerRecord[]) {
  const dataDir = freshFolder();
  plantKeys(dataDir);
  const clock = tickingClock();
  let passedMs = 0;
  const ledger = openLedger(dataDir, { ...clock, now: () => clock.now() + passedMs });
  const context = { ledger: () => ledger, settings: { dataDir, ...issuing } };
  ledger.append([...life]);
  ledger.checkpoint();
  const [receipt] = signReceipts(
    { ...context, db: undefined } as never,
    [{ request: id, subjectKey: box.subjectKey }],
    'received',
  );
  const path = join(dataDir, 'receipt.json');
  writeFileSync(path, receiptText(receipt));
  const run = (...args: string[]) => runCliHere(['audit', ...args, '--config', '/dev/null', '--data-dir', dataDir]);
  return {
    dataDir,
    entries: () => ledger.entries(),
    histories: () => [...ledger.histories.all()],
    passes: (ms: number): void => {
      passedMs += ms;
    },
    certify: (generation = 1): void => {
      const certificate = issueCertificate(context as never, { id, generation });
      ledger.append([{ type: 'certified', request: id, generation, certificate }]);
      ledger.checkpoint();
    },
    append: (...records: LedgerRecord[]): void => {
      ledger.append(records);
      ledger.checkpoint();
    },
    certificate: (...args: string[]) => run('certificate', id, ...args),
    page: (generation = 1): string =>
      readFileSync(join(dataDir, `reports/certificate-${id}-g${generation}.html`), 'utf8'),
    open: () => run('open', path, '--email', 'ann@canary.example'),
  };
}

test('a letter of a superseded certificate is refused, and who opens its receipt is told', async () => {
  const papers = papersOf(untilCertified);
  papers.certify();
  expect((await papers.certificate('--format', 'letter')).stdout).toContain('What was done');
  expect((await papers.open()).stdout).not.toContain('superseded');
  papers.append({ type: 'readmitted', ...about, reason: 'e'.repeat(64), entries: 1 });
  const letter = await papers.certificate('--format', 'letter', '--superseded');
  expect(letter).toMatchObject({ code: 2, stdout: '' });
  expect(letter.stderr).toMatch(
    /is superseded: readmitted \(2026-11-20\)[^]*a page or a bundle of it is written all the same/,
  );
  expect((await papers.certificate('--superseded')).stdout).toContain('certificate-');
  expect((await papers.open()).stdout).toMatch(
    /its file is the one on the ledger\nsuperseded: readmitted \(2026-11-20\)\n$/,
  );
});

test('that all is mended counts once it is signed: whoever has no key can append it', async () => {
  const papers = papersOf(untilCertified);
  papers.certify();
  papers.append({ type: 'differs', part: 'snapshots', items: 1 });
  openLedger(papers.dataDir, tickingClock()).append([{ type: 'mended', part: 'snapshots', items: 1 }]);
  const letter = await papers.certificate('--format', 'letter');
  expect(letter).toMatchObject({ code: 2, stderr: expect.stringContaining('is superseded: differs snapshots') });
  expect((await papers.open()).stdout).toContain('superseded: differs snapshots');
  openLedger(papers.dataDir, tickingClock()).checkpoint();
  expect((await papers.certificate('--format', 'letter')).code).toBe(0);
  expect((await papers.open()).stdout).not.toContain('superseded');
});

test('a letter says what the recipients have said by now, and has the day on which it is written', async () => {
  const papers = papersOf(untilCertified);
  papers.certify();
  papers.append({ type: 'acknowledged', ...about, consumer: 'crm' });
  const { stdout } = await papers.certificate('--format', 'letter');
  expect(stdout).toContain('- crm: has told us that it did (recorded on November 20, 2026)\n');
  const today = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format();
  expect(stdout).toContain(`\n${today}\n`);
});

test('a request that was done in time, and opened again after it was due, is late in no paper', async () => {
  const days = (count: number): number => count * 86_400_000;
  const papers = papersOf(untilCertified);
  papers.certify();
  papers.append({ type: 'sealed', ...about });
  papers.passes(days(60));
  papers.append({ type: 'reopened', request: id, generation: 2, reason: 'restored' });
  papers.append(...untilCertified.filter(({ type }) => !['received', 'scoped'].includes(type)).map(nextGeneration));
  papers.certify(2);
  const { stdout } = await papers.certificate('--superseded');
  expect(stdout).toContain('opened again, and ended after the day when it was due (2026-12-20)');
  expect(stdout).toContain('day 61\n');
  expect(papers.page(2)).toMatch(/on day 61, opened again after it had ended in time \(due/);
  expect((await papers.certificate('--format', 'letter')).stdout).not.toContain('longer than the day');
  const [history] = papers.histories();
  const { db } = openTestMirror();
  expect(history && reportRequest(db, history, { madeAt: '2027-03-01T00:00:00.000Z', consumers: [] })).toMatchObject({
    generation: 2,
    completedAt: expect.stringContaining('2027-01-19'),
    isLate: false,
  });
  expect(verifyReports(papers.dataDir, papers.entries()).problems).toEqual([]);
});

test('what an approval has left to another person stands in the letter and on the page', async () => {
  const [received, scoped, ...rest] = untilCertified as [LedgerRecord, LedgerRecord, ...LedgerRecord[]];
  for (const reason of ['shared_identifier', 'too_many'] as const) {
    const held: LedgerRecord[] = [{ type: 'held', ...about, reason }, { type: 'approved', ...about }, scoped];
    const papers = papersOf([received, scoped, ...held, ...rest]);
    papers.certify();
    const isLeft = reason === 'shared_identifier';
    expect((await papers.certificate('--format', 'letter')).stdout.includes('It was left to that person')).toBe(isLeft);
    await papers.certificate();
    expect(papers.page().includes('Left to another person')).toBe(isLeft);
    expect(verifyReports(papers.dataDir, papers.entries()).problems).toEqual([]);
  }
});

const ends: [LedgerRecord[], string][] = [
  [[{ type: 'refused', ...about, reason: 'unknown_subject' }], 'it was refused: it gets no certificate\n'],
  [[{ type: 'cancelled', ...about }], 'it was cancelled: it gets no certificate\n'],
  [[...untilCertified.slice(1, 5), { type: 'sealed', ...about }], 'it ended without a certificate\n'],
];

test.each(ends)(
  'a request without a certificate is told why it has none, and that it gets none: %#',
  async (end, says) => {
    const papers = papersOf(untilCertified.slice(0, 1));
    expect((await papers.open()).stdout).toContain('no certificate yet\n');
    expect((await papers.certificate()).stderr).toContain('one is issued once everything is reached');
    papers.append(...end);
    expect((await papers.open()).stdout).toContain(says);
    expect((await papers.certificate()).stderr).toContain(says);
  },
);

test('who reads of a request that its age has ended is pointed to no certificate', () => {
  expect(adviceText('life_exceeded')).toContain('there is no certificate of it');
});

test('no page says that the person was not found, whom a search of an earlier generation had found', async () => {
  const life = untilCertified.slice(1);
  const controlled = (hits: number, records: LedgerRecord[]): LedgerRecord[] =>
    records.map((record) => (record.type === 'scan' && record.phase === 'control' ? { ...record, hits } : record));
  const papers = papersOf(untilCertified);
  papers.append({ type: 'reopened', request: id, generation: 2, reason: 'shown_wider' });
  papers.append(...controlled(0, life).map(nextGeneration));
  papers.certify(2);
  await papers.certificate();
  expect(papers.page(2)).toContain('A search of an earlier generation');
  expect(papers.page(2)).not.toContain('did not find the person');
});
