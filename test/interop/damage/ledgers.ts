import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256 } from '../../../src/core/digest.ts';
import { certificateText } from '../../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../../src/erasure/proof/derive-certificate.ts';
import { ledgerOrigin } from '../../../src/ledger/checkpoint.ts';
import { openLedger } from '../../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../../src/ledger/record.ts';
import { writeAttacked } from '../../ledger/attacks.ts';
import { lifeOf, plantKeys, requestId, stated, tickingClock } from '../../ledger/ledger-fixture.ts';
import type { Case } from './case.ts';

const verifier = fileURLToPath(new URL('../../../docs/verifier/', import.meta.url));
const anHourLater = Date.UTC(2026, 10, 20, 13);

/** The case that a ledger's folder is. */
function caseOf(folder: string, nowMs: number): Case {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const read = files.map((file): [string, Buffer] => [relative(folder, file), readFileSync(file)]);
  return { files: new Map(read), kept: {}, certificates: new Map(), nowMs };
}

/** A bundle, page or receipt, which is judged without a folder. */
function carrying(text: string): Case {
  return { files: new Map(), kept: {}, certificates: new Map(), text, nowMs: anHourLater };
}

/** A data folder of its own for `make`. */
function within<T>(make: (dataDir: string) => T): T {
  const dataDir = mkdtempSync(join(tmpdir(), 'mirror-sound-'));
  try {
    return make(dataDir);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

/** All that is written of an erasure: certificate, bundle, page and receipt. */
function wholeCases(): Case[] {
  return within((dataDir) => {
    writeAttacked(dataDir);
    const ledger = caseOf(join(dataDir, 'ledger'), anHourLater);
    const text = (file: string): string => readFileSync(join(dataDir, file), 'utf8');
    const receipt = text('kept/receipt.json');
    for (const file of readdirSync(join(dataDir, 'reports/certificates')))
      ledger.certificates.set(file, readFileSync(join(dataDir, 'reports/certificates', file)));
    const carried = [text('reports/bundle-1.json'), text('reports/certificate-1.html'), receipt];
    return [
      ledger,
      { ...ledger, files: new Map(ledger.files), certificates: new Map(ledger.certificates), kept: { receipt } },
      ...carried.map(carrying),
    ];
  });
}

/** A request that was certified, reopened and certified again, readmitted, and a mirror that differed and was mended. */
function generations(): Case {
  return within((dataDir) => {
    plantKeys(dataDir);
    const ledger = openLedger(dataDir, tickingClock());
    const facts = { ledgerOrigin: ledgerOrigin(dataDir, ledger), stated };
    const certificates = new Map<string, Buffer>();
    const [received = [], ...life] = lifeOf(1, 1);
    const append = (record: LedgerRecord, generation: number, epoch: number): void => {
      const own = { ...record, ...('generation' in record && { generation }), ...('epoch' in record && { epoch }) };
      if (own.type !== 'certified') return ledger.append([own]);
      const history = ledger.histories.of(requestId(1));
      const certificate = history && deriveCertificate(history, facts);
      const text = certificate ? certificateText(certificate) : '';
      certificates.set(`g${generation}.json`, Buffer.from(text));
      ledger.append([{ ...own, certificate: sha256(text) }]);
    };
    ledger.append(received);
    for (const record of life.flat()) append(record, 1, 1);
    ledger.checkpoint();
    ledger.append([
      { type: 'differs', part: 'requests', items: 2 },
      { type: 'mended', part: 'requests', items: 2 },
      { type: 'reopened', request: requestId(1), generation: 2, reason: 'residue_found' },
    ]);
    for (const record of life.flat()) append(record, 2, 2);
    ledger.rotateKey();
    ledger.append([{ type: 'readmitted', request: requestId(1), generation: 2, reason: '7'.repeat(64), entries: 1 }]);
    ledger.checkpoint();
    return { ...caseOf(join(dataDir, 'ledger'), anHourLater), certificates };
  });
}

const asked = { subject: '1'.repeat(64), authorisation: '2'.repeat(64), due_at: '2026-12-20T12:00:00.000Z' };

/** Requests that ended in every other way, and those for access. */
function refusals(): Case {
  return within((dataDir) => {
    plantKeys(dataDir);
    const ledger = openLedger(dataDir, tickingClock());
    const [received, scoped] = [1, 2, 3].map((n) => lifeOf(n, 1)).flatMap((life) => [life[0] ?? [], life[1] ?? []]);
    const about = (n: number): { request: string; generation: number } => ({ request: requestId(n), generation: 1 });
    ledger.append([...(received ?? []), ...(scoped ?? [])]);
    ledger.append([
      { type: 'held', ...about(1), reason: 'several_persons' },
      { type: 'approved', ...about(1) },
      { type: 'amended', ...about(1), basis: 'objection', authorisation: 'e'.repeat(64), identity: 'document' },
      { type: 'cancelled', ...about(1) },
      { type: 'sealed', ...about(1) },
      ...lifeOf(2, 1).slice(0, 1).flat(),
      { type: 'refused', ...about(2), reason: 'unknown_subject' },
      ...lifeOf(3, 1).slice(0, 8).flat(),
      { type: 'attention', ...about(3), target: 'upstream.person', reason: 'life_exceeded' },
      { type: 'sealed', ...about(3) },
      { type: 'asked', ...about(4), ...asked },
      { type: 'asked', ...about(5), ...asked, identity: 'logged_in' },
      { type: 'answered', ...about(4) },
      { type: 'cancelled', ...about(5) },
      { type: 'replayed', epoch_from: 0, epoch_to: 1, rows: 3 },
      { type: 'key_bound', key: 'fence', check: 'd'.repeat(32) },
    ]);
    ledger.checkpoint();
    return caseOf(join(dataDir, 'ledger'), anHourLater);
  });
}

/** Sound ledgers, bundles, pages and receipts, as the program wrote them. */
export function soundCases(): Case[] {
  const vectors = JSON.parse(readFileSync(join(verifier, 'vectors/vectors.json'), 'utf8')) as {
    name: string;
    now: string;
  }[];
  const good = ['good', 'fence-in-parts', 'batch', 'published', 'copies', 'acknowledged'];
  const ledgers = vectors
    .filter(({ name }) => good.includes(name))
    .map(({ name, now }) => caseOf(join(verifier, 'vectors', name), Date.parse(now)));
  const proofs = JSON.parse(readFileSync(join(verifier, 'proofs/vectors.json'), 'utf8')) as {
    file: string;
    problem: unknown;
  }[];
  const texts = proofs
    .filter(({ problem }) => problem === null || problem === 'superseded')
    .map(({ file }) => readFileSync(join(verifier, 'proofs', file), 'utf8'))
    .map(carrying);
  return [...ledgers, generations(), refusals(), ...wholeCases(), ...texts];
}
