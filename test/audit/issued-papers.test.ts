import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { issueCertificate } from '../../src/erasure/proof/certificate-file.ts';
import { newBox, subjectMac } from '../../src/erasure/request/box.ts';
import { receiptText, signReceipts } from '../../src/erasure/request/receipt.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { runCliHere } from '../cli/run-cli.ts';
import { issuing, lifeOf, plantKeys, requestId, tickingClock } from '../ledger/ledger-fixture.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const id = requestId(1);
const about = { request: id, generation: 1 };
const box = newBox([{ kind: 'email', value: 'ann@canary.example' }], nobody);

const named = (record: LedgerRecord): LedgerRecord =>
  record.type === 'received' ? { ...record, subject: subjectMac(box) } : record;

/** The life of Ann's request up to its certificate. */
const untilCertified = lifeOf(1, 1).flat().slice(0, -2).map(named);

/** A data folder whose ledger has the life of Ann's request, and what commands say of it. */
function papersOf(life: readonly LedgerRecord[], startMs?: number) {
  const dataDir = freshFolder();
  plantKeys(dataDir);
  const ledger = openLedger(dataDir, tickingClock(startMs));
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

test('a letter says what the recipients have said by now, and has the day on which it is written', async () => {
  const papers = papersOf(untilCertified);
  papers.certify();
  papers.append({ type: 'acknowledged', ...about, consumer: 'crm' });
  const { stdout } = await papers.certificate('--format', 'letter');
  expect(stdout).toContain('- crm: has told us that it did (recorded on November 20, 2026)\n');
  const today = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format();
  expect(stdout).toContain(`\n${today}\n`);
});
