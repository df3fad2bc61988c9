import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addCosignature, checkpointOfSize, keepTimeStamp, listCheckpointSizes } from '../../src/ledger/checkpoint.ts';
import { testKey, timeStampToken, type TokenShape } from '../anchor/time-stamp-authority.ts';
import { cosignatureLine, witnessVkey } from '../anchor/witness.ts';

/** The anchors of a ledger in a vector: when its checkpoints were anchored, and of which sizes. */
export type Anchoring = {
  atMs?: number;
  /** Sizes of checkpoints without a cosignature, and without a time stamp. */
  uncosigned?: readonly number[];
  unstamped?: readonly number[];
  shape?: TokenShape;
};

const minutesLater = Date.UTC(2026, 10, 20, 12, 5);

/** Anchors the checkpoints of a ledger. */
export function anchor(folder: string, anchoring: Anchoring = {}): void {
  const { atMs = minutesLater, uncosigned = [], unstamped = [], shape } = anchoring;
  for (const size of listCheckpointSizes(folder)) {
    const checkpoint = checkpointOfSize(folder, size);
    if (!checkpoint) throw new Error('no checkpoint');
    const { text } = checkpoint.note;
    if (!uncosigned.includes(size)) addCosignature(folder, size, cosignatureLine(text, atMs / 1000));
    if (!unstamped.includes(size)) keepTimeStamp(folder, size, timeStampToken(text, atMs, shape));
  }
}

/** The text of a policy that trusts the tests' authority and witness. */
export function policyText(folder: string, changes: Record<string, unknown> = {}, keyLine = 0): string {
  const key = readFileSync(join(folder, 'public-keys.txt'), 'utf8').split('\n')[keyLine];
  const policy = {
    policy: 'analytics-mirror/anchor-policy@1',
    public_key: key,
    max_age_seconds: 3600,
    time_stamps: { needed: 1, authorities: [testKey('authority-root.pem')] },
    witnesses: { needed: 1, keys: [witnessVkey()] },
    ...changes,
  };
  return `${JSON.stringify(policy, null, 2)}\n`;
}

const noStamps = { needed: 0, authorities: [] };
const noWitnesses = { needed: 0, keys: [] };
const stampsBy = (file: string): Record<string, unknown> => ({
  time_stamps: { needed: 1, authorities: [testKey(file)] },
});

/** A ledger with anchors. `policy`: how the policy of the auditor differs from the usual one. */
export type AnchoredVector = {
  name: string;
  anchoring?: Anchoring;
  change?: (folder: string) => void;
  policy?: Record<string, unknown>;
  /** Which of the ledger's keys the policy takes for the first. */
  keyLine?: number;
  nowMs?: number;
};

const oneDayLater = Date.UTC(2026, 10, 21, 12);

/** A token of OpenSSL's own authority, by a key of an elliptic curve, over the newest checkpoint of the small ledger. */
function keepTokenOfOpenssl(folder: string): void {
  keepTimeStamp(folder, 20, readFileSync(new URL('../anchor/keys/openssl.tst', import.meta.url)));
}

/** Changes one byte of the time stamp over the newest checkpoint. */
function changeStamp(folder: string, at: number): void {
  const stamps = join(folder, 'time-stamps');
  const file = readdirSync(stamps).find((each) => each.startsWith('000000020')) ?? '';
  const bytes = readFileSync(join(stamps, file));
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(join(stamps, file), bytes);
}

/** The vectors about anchors outside. `signAgain` signs the entries as they are with the operator's key. */
export function anchoredVectors(signAgain: (folder: string) => void): AnchoredVector[] {
  return [
    { name: 'anchored' },
    { name: 'anchored-by-witness', policy: { time_stamps: noStamps } },
    { name: 'anchored-by-authority', policy: { witnesses: noWitnesses } },
    { name: 'anchored-by-certificate', policy: stampsBy('authority.pem') },
    { name: 'anchored-by-another-certificate', policy: stampsBy('authority-ec.pem') },
    {
      name: 'anchored-by-openssl',
      anchoring: { unstamped: [5, 13, 20] },
      change: keepTokenOfOpenssl,
      policy: { witnesses: noWitnesses, max_age_seconds: 4 * 86_400 },
      nowMs: Date.UTC(2026, 10, 23),
    },
    { name: 'anchored-sha512', anchoring: { shape: { digest: 'sha512', names: 'sha1' } } },
    { name: 'anchored-late', anchoring: { atMs: Date.UTC(2026, 10, 20, 14) } },
    {
      name: 'anchored-late-before-policy',
      anchoring: { atMs: Date.UTC(2026, 10, 20, 14) },
      policy: { from_entry: 20 },
    },
    { name: 'dated-after-anchor', anchoring: { atMs: Date.UTC(2026, 10, 20, 11, 50) } },
    { name: 'uncosigned-newest', anchoring: { uncosigned: [20] } },
    { name: 'uncosigned-newest-for-long', anchoring: { uncosigned: [20] }, nowMs: oneDayLater },
    { name: 'unstamped', anchoring: { unstamped: [5, 13, 20] } },
    { name: 'unanchored', anchoring: { uncosigned: [5, 13, 20], unstamped: [5, 13, 20] } },
    {
      // With the operator's key and a willing authority: only the witness refuses.
      name: 'forked-and-stamped',
      change: (folder) => {
        const path = join(folder, 'entries.jsonl');
        writeFileSync(path, readFileSync(path, 'utf8').replace('"persons":1', '"persons":2'));
        rmSync(join(folder, 'checkpoints'), { recursive: true });
        rmSync(join(folder, 'time-stamps'), { recursive: true });
        mkdirSync(join(folder, 'checkpoints'));
        signAgain(folder);
        anchor(folder, { uncosigned: [20] });
      },
    },
    {
      name: 'cosignature-changed',
      change: (folder) => {
        const path = join(folder, 'checkpoints/000000020.txt');
        const text = readFileSync(path, 'utf8');
        const at = text.lastIndexOf('A');
        writeFileSync(path, `${text.slice(0, at)}B${text.slice(at + 1)}`);
      },
    },
    { name: 'time-stamp-changed', change: (folder) => changeStamp(folder, 300) },
    { name: 'time-stamp-of-another-length', change: (folder) => changeStamp(folder, 3) },
    { name: 'time-stamp-forged', anchoring: { shape: { isForged: true } } },
    { name: 'time-stamp-for-any-use', anchoring: { shape: { certificate: 'authority-loose' } } },
    { name: 'time-stamp-of-no-certificate', anchoring: { shape: { names: 'nothing' } } },
    { name: 'time-stamp-of-another-certificate', anchoring: { shape: { names: 'another' } } },
    {
      name: 'time-stamp-of-another-text',
      change: (folder) => keepTimeStamp(folder, 20, timeStampToken('another text\n', minutesLater)),
    },
    { name: 'policy-of-another-key', keyLine: 1 },
  ];
}
