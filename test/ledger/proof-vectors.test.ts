import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { certificateText, readCertificate, statedFacts } from '../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../src/erasure/proof/derive-certificate.ts';
import { readReceipt } from '../../src/erasure/request/receipt.ts';
import { entriesIn } from '../../src/ledger/entry.ts';
import { readVkeys } from '../../src/ledger/key-chain.ts';
import { collectHistories } from '../../src/ledger/request-history.ts';
import { verifyBundle } from '../audit/bundle-fixture.ts';
import { requestId } from './ledger-fixture.ts';
import type { ProofVector } from './write-proof-vectors.ts';

const published = fileURLToPath(new URL('../../docs/verifier/proofs', import.meta.url));
const textOf = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8');
const vectors = JSON.parse(textOf(published, 'vectors.json')) as ProofVector[];
const bundles = vectors.filter(({ file }) => file.startsWith('bundle'));
const receipts = vectors.filter(({ file }) => file.startsWith('receipt'));

/** Whether the program derives the certificate of a bundle from its entries. */
function isDerived(bundle: { certificate: string; entries: { line: string }[]; public_keys: string }): boolean {
  const histories = collectHistories();
  for (const { line } of bundle.entries) {
    const entries = entriesIn(Buffer.from(line));
    if (typeof entries === 'string') return false;
    for (const entry of entries) if (entry.type !== 'certified') histories.take(entry);
  }
  const certificate = readCertificate(bundle.certificate);
  const facts = certificate && statedFacts(certificate);
  const history = histories.of(requestId(1));
  const [key] = readVkeys(bundle.public_keys) ?? [];
  if (!facts || !history || !key) return false;
  const derived = deriveCertificate(history, { ledgerOrigin: key.name, ...facts }, certificate.format_version);
  return derived !== undefined && certificateText(derived) === bundle.certificate;
}

describe('the published bundles and receipts', () => {
  it('are good ones of each version, and others', () => {
    expect(bundles.filter(({ problem }) => problem === null).length).toBeGreaterThan(5);
    expect(bundles.filter(({ problem }) => problem === 'says_otherwise').length).toBeGreaterThan(9);
  });

  it.each(vectors)('$file: the verifier alone says $problem', ({ file, problem }) => {
    const { ok, problems } = verifyBundle({ text: textOf(published, file) });
    expect({ ok, found: problems.map((each) => each.problem) }).toEqual({
      ok: problem === null,
      found: problem === null ? [] : (expect.arrayContaining([problem]) as string[]),
    });
  });

  it.each(bundles)('$file: the program derives its certificate, where it is good', ({ file, problem }) => {
    expect(isDerived(JSON.parse(textOf(published, file)) as never)).toBe(problem === null);
  });

  it.each(receipts)('$file: the program reads it, unless it is none', ({ file, problem }) => {
    const read = () => readReceipt(join(published, file));
    if (problem === 'not_a_receipt') expect(read).toThrow('that is no receipt');
    else expect(read().format_version).toBe(2);
  });
});
