import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifyBundle } from '../../docs/verifier/verify.mjs';
import { bundleText } from '../../src/audit/bundle.ts';
import { certificatePage } from '../../src/audit/certificate-page.ts';
import { findCertificate } from '../../src/audit/issued-certificates.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import { anchor, policyText } from '../ledger/anchored-vectors.ts';
import { issuing, requestId, tickingClock } from '../ledger/ledger-fixture.ts';
import { writeArchive } from './archive-fixture.ts';

/** The verifier's file. */
export const verifier = new URL('../../docs/verifier/verify.mjs', import.meta.url);

/** A data folder with a few requests, whose ledger is signed by a second key. Remove it in the end. */
export function bundleFolder(): { dataDir: string; keys: string } {
  const dataDir = mkdtempSync(join(tmpdir(), 'mirror-bundle-'));
  writeArchive(dataDir, 12).db.close();
  openLedger(dataDir, tickingClock(Date.UTC(2026, 10, 21))).rotateKey();
  openLedger(dataDir, tickingClock(Date.UTC(2026, 10, 21))).checkpoint();
  return { dataDir, keys: readFileSync(join(dataDir, 'ledger/public-keys.txt'), 'utf8') };
}

/** The bundle of the nth request, and the page that carries it. */
export function bundleOf(dataDir: string, n: number): { text: string; page: string } {
  const ledger = readLedger(dataDir);
  const found = findCertificate({ dataDir, ...issuing }, ledger, requestId(n));
  const text = bundleText(dataDir, ledger, found);
  return { text, page: certificatePage(found, text) };
}

/** Checks that a bundle does not verify after a change of each nth single byte. Returns how many there were. */
export function checkBytes(
  { text, keys, policy }: { text: string; keys: string; policy?: string | undefined },
  nth: number,
): number {
  const task = { text, publicKey: keys, policy };
  expect(verifyBundle(task)).toEqual({ ok: true, entries: expect.any(Number), problems: [], warnings: [] });
  const bytes = Buffer.from(text);
  const passed: number[] = [];
  let checked = 0;
  for (let at = 0; at < bytes.length; at += nth) {
    checked += 1;
    const other = Buffer.from(bytes);
    // A letter's case, or another digit of base64 or of a number.
    other[at] = (other[at] ?? 0) ^ (at % 2 === 0 ? 1 : 0x20);
    if (verifyBundle({ ...task, text: other.toString('utf8') }).ok) passed.push(at);
  }
  expect(passed).toEqual([]);
  return checked;
}

/** Checks a new bundle so: a bare one, or one with anchors, by a policy that needs each of them. */
export function checkNewBundle(kind: 'bare' | 'anchored', nth: number): number {
  const { dataDir, keys } = bundleFolder();
  const folder = join(dataDir, 'ledger');
  if (kind === 'anchored') anchor(folder, { atMs: Date.UTC(2026, 10, 22) });
  const policy = kind === 'anchored' ? policyText(folder, { max_age_seconds: 400 * 86_400 }) : undefined;
  // Each byte of a time stamp is changed in a test of its own.
  const checked = checkBytes({ ...bundleOf(dataDir, 1), keys, policy }, nth);
  rmSync(dataDir, { recursive: true });
  return checked;
}
