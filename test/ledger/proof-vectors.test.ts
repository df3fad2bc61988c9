import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/digest.ts';
import { certificateText, readCertificate } from '../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../src/erasure/proof/derive-certificate.ts';
import { readReceipt } from '../../src/erasure/request/receipt.ts';
import { readEntry } from '../../src/ledger/entry.ts';
import { readVkeys } from '../../src/ledger/key-chain.ts';
import { laterWords } from '../../src/ledger/later-words.ts';
import { readHistories } from '../../src/ledger/histories.ts';
import { verifyBundle } from '../../docs/verifier/verify.mjs';
import { requestId } from './ledger-fixture.ts';
import type { ProofVector } from './write-proof-vectors.ts';

const published = fileURLToPath(new URL('../../docs/verifier/proofs', import.meta.url));
const textOf = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8');
const vectors = JSON.parse(textOf(published, 'vectors.json')) as ProofVector[];
const bundles = vectors.filter(({ file }) => file.startsWith('bundle'));
const receipts = vectors.filter(({ file }) => file.startsWith('receipt'));

/** What the program says of the certificate of a bundle: whether its entries derive it, and whether later ones speak against it. */
function judge(bundle: { certificate: string; entries: { line: string }[]; public_keys: string }): string | null {
  const entries = bundle.entries.flatMap(({ line }) => {
    const read = readEntry(Buffer.from(line));
    return typeof read === 'string' ? [] : [read];
  });
  const end = entries.findIndex(({ type }) => type === 'certified');
  const histories = readHistories(entries.slice(0, end));
  const certificate = readCertificate(bundle.certificate);
  const history = histories.of(requestId(1));
  const [key] = readVkeys(bundle.public_keys) ?? [];
  if (!certificate || !history || !key) return 'says_otherwise';
  const derived = deriveCertificate(history, { ledgerOrigin: key.name, stated: certificate.stated });
  if (derived === undefined || certificateText(derived) !== bundle.certificate) return 'says_otherwise';
  return laterWords({ entries: () => entries }, requestId(1), sha256(bundle.certificate)).length > 0
    ? 'superseded'
    : null;
}

describe('the published bundles and receipts', () => {
  it('are good ones, and others', () => {
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

  it.each(bundles)('$file: the program says the same of its certificate', ({ file, problem }) => {
    const said = judge(JSON.parse(textOf(published, file)) as never);
    expect(said).toBe(problem === 'other_certificate' ? 'says_otherwise' : problem);
  });

  it('have the sentences of receipts in the file that their description names', () => {
    expect(textOf(join(published, '..'), 'PROOFS.md')).toContain('`proofs/receipt-refused.json`');
    const good = receipts.filter(({ problem }) => problem === null).map(({ file }) => textOf(published, file));
    const { how } = JSON.parse(textOf(published, 'receipt-refused.json')) as { how: string };
    expect(good.length).toBeGreaterThan(1);
    expect(good.filter((text) => (JSON.parse(text) as { how: string }).how !== how)).toEqual([]);
  });

  it.each(receipts)('$file: the program reads it, unless it is none', ({ file, problem }) => {
    const read = () => readReceipt(join(published, file));
    if (problem === 'not_a_receipt') expect(read).toThrow('that is no receipt');
    else expect(read().format_version).toBe(1);
  });
});
