import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleText } from '../../src/audit/bundle.ts';
import { sha256 } from '../../src/core/digest.ts';
import { certificateText } from '../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../src/erasure/proof/derive-certificate.ts';
import { subjectMac } from '../../src/erasure/request/box.ts';
import { signReceipts } from '../../src/erasure/request/receipt.ts';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { ledgerOrigin } from '../../src/ledger/checkpoint.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { openDatabase } from '../../src/mirror/database.ts';
import { lifeOf, lifeOfBatch, naming, plantKeys, requestId, stated, tickingClock } from './ledger-fixture.ts';

type Json = Record<string, unknown>;

/** A file that `verify.mjs` verifies alone, and whether it is good; where it is not, the problem that it has. */
export type ProofVector = { file: string; problem: string | null };

/** The life of the first request, with the person's events kept, where it says so, and its own rows counted. */
function life(more: Partial<Extract<LedgerRecord, { type: 'received' }>> = {}, isKept = false): LedgerRecord[] {
  const changed = (record: LedgerRecord): LedgerRecord => {
    if (record.type === 'received') return { ...record, ...more };
    if (record.type !== 'result') return record;
    if (record.target === 'upstream.events' && isKept) return { ...record, result: 'kept', assurance: 'observed' };
    return record;
  };
  return lifeOf(1, 1).flat().map(changed);
}

/** The same life with a bucket: what the ledger says of it comes after the scan, and needs no further one. */
function lifeWithBucket(end: object): LedgerRecord[] {
  const bucket = { requests: [requestId(1)], target: 'bucket' as const };
  const about = { request: requestId(1), generation: 1 };
  return life().flatMap((record): LedgerRecord[] =>
    record.type === 'awaiting_upstream'
      ? [
          { type: 'intent', ...bucket },
          { type: 'attention', ...about, target: 'bucket', reason: 'bucket_refuses' },
          { type: 'result', ...bucket, result: 'absent', assurance: 'observed', ...end },
          record,
        ]
      : [record],
  );
}

/** The same life with its decision stated: when it was received, and otherwise in a part later. Events are kept. */
function lifeDecided(): LedgerRecord[] {
  const received = { decided_by: 'support', identity: 'logged_in' } as const;
  const amended = { decided_by: 'legal_team', exception: 'legal_claims' } as const;
  const about = { request: requestId(1), generation: 1, basis: 'consent_withdrawn' } as const;
  return life(received, true).flatMap((record): LedgerRecord[] =>
    record.type === 'scoped' ? [record, { type: 'amended', ...about, ...amended }] : [record],
  );
}

/** The same life with three consumers: one had deleted before the certificate, one did later, one never; another was not asked. */
function lifeWithConsumers(): LedgerRecord[] {
  const about = { request: requestId(1), generation: 1 };
  const word = (consumer: string): LedgerRecord => ({ type: 'acknowledged', ...about, consumer });
  return life()
    .map(naming(['billing', 'crm-team', 'warehouse']))
    .flatMap((record): LedgerRecord[] => {
      if (record.type === 'awaiting_upstream') return [record, word('warehouse'), word('notebooks')];
      return record.type === 'certified' ? [record, word('crm-team')] : [record];
    });
}

/** Changes what a certificate says of its consumers. */
function withConsumers(change: (consumers: Json[]) => Json[]): (own: Json) => Json {
  return (own) => ({ ...own, consumers: change(own['consumers'] as Json[]) });
}

/** The words that come after a certificate, and the problem of its bundle then. */
export const laterRecords: Readonly<Record<string, LedgerRecord[]>> = {
  reopened: [
    { type: 'reopened', request: requestId(1), generation: 2, reason: 'residue_found' },
    { type: 'attention', request: requestId(1), generation: 2, target: 'mirror', reason: 'residue_found' },
  ],
  readmitted: [{ type: 'readmitted', request: requestId(1), generation: 1, reason: '7'.repeat(64), entries: 3 }],
  differs: [{ type: 'differs', part: 'snapshots', items: 1 }],
};

const locked = { result: 'locked', until: '2033-01-01T00:00:00.000Z' };

/** A data folder of its own for `make`. */
function within<T>(make: (dataDir: string) => T): T {
  const dataDir = mkdtempSync(join(tmpdir(), 'mirror-proofs-'));
  try {
    plantKeys(dataDir);
    return make(dataDir);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

/** The bundle of a request that was certified with what `issue` makes of its true certificate; after a rotation of the key. */
function bundle(records: LedgerRecord[], issue: (own: Json) => Json = (own) => own): string {
  return within((dataDir) => {
    const ledger = openLedger(dataDir, tickingClock());
    const facts = { ledgerOrigin: ledgerOrigin(dataDir, ledger), stated };
    let text = '';
    for (const record of records) {
      const isOwn = 'request' in record && record.request === requestId(1);
      if (record.type === 'locally_verified' && isOwn) ledger.rotateKey();
      if (record.type !== 'certified' || !isOwn) ledger.append([record]);
      else {
        const history = ledger.histories.of(requestId(1));
        const certificate = history && deriveCertificate(history, facts);
        if (!certificate) throw new Error('a history that is not whole');
        text = canonicalJson(issue(JSON.parse(certificateText(certificate)) as Json));
        ledger.append([{ ...record, certificate: sha256(text) }]);
      }
    }
    ledger.checkpoint();
    const certified = [...ledger.entries()].find(({ type }) => type === 'certified');
    return bundleText(dataDir, ledger, { certificate: { request: requestId(1) }, text, entry: certified?.seq ?? 0 });
  });
}

const subjectKey = '22'.repeat(32);
const subject = subjectMac({ subjectKey, given: [{ kind: 'email', value: 'ann@x.example' }] });

const asked: LedgerRecord = {
  type: 'asked',
  request: requestId(1),
  generation: 1,
  subject,
  authorisation: 'e'.repeat(64),
  due_at: '2026-12-20T12:00:00.000Z',
  identity: 'logged_in',
};

/** The receipt of a request that was just received, or refused. */
function receipt(more: LedgerRecord[] = [], isRotated = false, first = life({ subject })[0] as LedgerRecord): string {
  return within((dataDir) => {
    const clock = tickingClock();
    const ledger = openLedger(dataDir, clock);
    if (isRotated) {
      ledger.append([lifeOf(2, 1).flat()[0] as LedgerRecord]);
      ledger.rotateKey();
    }
    ledger.append([first]);
    for (const record of more) ledger.append([record]);
    const db = openDatabase(join(dataDir, 'mirror'), clock);
    const context = { db, ledger: () => ledger, settings: { dataDir } } as never;
    const [signed] = signReceipts(context, [{ request: requestId(1), subjectKey }]);
    db.close();
    return `${JSON.stringify(signed, null, 2)}\n`;
  });
}

/** A text with something else in the place of something that it holds. */
function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`a text without ${from}`);
  return text.replace(from, to);
}

const backups = { backups_until: '2027-01-31T00:00:00.000Z' };

const boasts: [name: string, issue: (own: Json) => Json][] = [
  ['words', (own) => ({ ...own, summary: 'Erased everywhere.' })],
  ['weakest', (own) => ({ ...own, weakest_assurance: 'verified' })],
  ['not-proven', (own) => ({ ...own, not_proven: (own['not_proven'] as Json[]).slice(1) })],
  ['ground', (own) => ({ ...own, basis: 'legal_obligation' })],
  ['authorised', (own) => ({ ...own, authorisation: 'e'.repeat(64) })],
  ['deleted', (own) => ({ ...own, deleted_upstream_at: own['received_at'] })],
  [
    'rows',
    (own) => ({ ...own, targets: (own['targets'] as Json[]).map((one) => Object.assign(one, { rows_removed: 9 })) }),
  ],
  [
    'method',
    (own) => ({ ...own, targets: (own['targets'] as Json[]).map((one) => Object.assign(one, { method: 'clear' })) }),
  ],
  ['stated', (own) => ({ ...own, stated: { ...(own['stated'] as Json), court: 'It is approved.' } })],
  ['backups', (own) => ({ ...own, stated: { ...(own['stated'] as Json), backups_until: 'soon' } })],
];

/** Writes all vectors to a folder: bundles and receipts, good ones and others, and a list of them. Always the same bytes. */
export function writeProofVectors(target: string): void {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const refused: LedgerRecord = { type: 'refused', request: requestId(1), generation: 1, reason: 'unknown_subject' };
  const [plain, answered] = [receipt(), receipt([refused])];
  const files: [name: string, text: string, problem: string | null][] = [
    ['bundle', bundle(life()), null],
    ['bundle-of-a-batch', bundle(lifeOfBatch([1, 2], 1)), null],
    ['bundle-bucket', bundle(lifeWithBucket({})), null],
    ['bundle-bucket-locked', bundle(lifeWithBucket(locked)), null],
    ['bundle-bucket-held', bundle(lifeWithBucket({ result: 'locked' })), null],
    [
      'bundle-boasting-bucket',
      bundle(lifeWithBucket(locked), (own) => ({
        ...own,
        targets: (own['targets'] as Json[]).map((one) => ('until' in one ? Object.assign(one, { until: null }) : one)),
      })),
      'says_otherwise',
    ],
    ['bundle-consumers', bundle(lifeWithConsumers()), null],
    [
      'bundle-boasting-consumers',
      bundle(
        lifeWithConsumers(),
        withConsumers((all) => all.map((one) => ({ ...one, acknowledged_at: '2026-11-20T12:00:14.000Z' }))),
      ),
      'says_otherwise',
    ],
    [
      'bundle-boasting-silent-consumer',
      bundle(
        lifeWithConsumers(),
        withConsumers((all) => all.filter((one) => one['acknowledged_at'] !== null)),
      ),
      'says_otherwise',
    ],
    ['bundle-events-kept', bundle(life({}, true)), null],
    [
      'bundle-decided',
      bundle(lifeDecided(), (own) => ({ ...own, stated: { ...(own['stated'] as Json), ...backups } })),
      null,
    ],
    ['bundle-boasting-decided', bundle(life({}, true), (own) => ({ ...own, identity: 'document' })), 'says_otherwise'],
    ['bundle-other-ground', bundle(life({ basis: 'consumer_request', origin: 'manual' })), null],
    ['bundle-of-a-restore', bundle(life({ basis: 'restored_backup', origin: 'restore' }, true)), null],
    ...boasts.map(([name, issue]): [string, string, string] => [
      `bundle-boasting-${name}`,
      bundle(life({}, true), issue),
      'says_otherwise',
    ]),
    ...Object.entries(laterRecords).map(([name, later]): [string, string, string] => [
      `bundle-superseded-${name}`,
      bundle([...life(), ...later]),
      'superseded',
    ]),
    ['bundle-other-certificate', replaced(bundle(life()), '\\"days\\":1', '\\"days\\":2'), 'other_certificate'],
    ['receipt', plain, null],
    ['receipt-after-rotation', receipt([], true), null],
    ['receipt-refused', answered, null],
    ['receipt-access', receipt([], false, asked), null],
    ['receipt-received-earlier', replaced(plain, '"received_at": "2026', '"received_at": "2025'), 'says_otherwise'],
    [
      'receipt-other-answer',
      replaced(answered, '"reason": "unknown_subject"', '"reason": "already_erased"'),
      'says_otherwise',
    ],
    ['receipt-other-ledger', replaced(plain, '"ledger": "analytics', '"ledger": "Analytics'), 'says_otherwise'],
    ['receipt-other-entry', replaced(plain, 'consent_withdrawn', 'legal_obligation'), 'not_proved'],
    ['receipt-field-twice', replaced(plain, '  "how"', `  "subject_key": "${subjectKey}",\n  "how"`), 'not_a_receipt'],
    ['receipt-field-more', replaced(plain, '  "how"', '  "more": 1,\n  "how"'), 'not_a_receipt'],
  ];
  const index = files.map(([name, text, problem]): ProofVector => {
    writeFileSync(join(target, `${name}.json`), text);
    return { file: `${name}.json`, problem };
  });
  writeFileSync(join(target, 'vectors.json'), `${JSON.stringify(index, null, 2)}\n`);
}

// Run by itself, it writes those of the documentation.
if (import.meta.main) writeProofVectors(fileURLToPath(new URL('../../docs/verifier/proofs', import.meta.url)));
