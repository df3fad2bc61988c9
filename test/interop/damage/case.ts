import type { KeyObject } from 'node:crypto';
import { canonicalJson } from '../../../src/ledger/canonical-json.ts';
import { checkpointName, checkpointText } from '../../../src/ledger/checkpoint.ts';
import { leafHash } from '../../../src/ledger/merkle.ts';
import { rootOf } from '../../../src/ledger/merkle-proof.ts';
import { isSignedBy, privateKeyOf, publicKeyOf, vkeyOf } from '../../../src/ledger/note.ts';
import type { Random } from './random.ts';

export type Json = Record<string, unknown>;

/** What both verifiers judge: a ledger's folder, or the text of a bundle, page or receipt. */
export type Case = {
  /** The files of the folder by their paths; null: a folder is there instead. */
  files: Map<string, Buffer | null>;
  kept: { publicKey?: string; checkpoint?: string; receipt?: string };
  certificates: Map<string, Buffer>;
  text?: string;
  nowMs: number;
};

const entriesFile = 'entries.jsonl';
export const keysFile = 'public-keys.txt';

/** The keys that an attacker holds: the ledgers' own, and two more. */
export const privateKeys = [0x11, 0x22, 0x33, 0x44].map((digit) => privateKeyOf(Buffer.alloc(32, digit)));
const byPublicKey = new Map(privateKeys.map((key) => [publicKeyOf(key).toString('hex'), key]));

export function textOf({ files }: Case, file: string): string {
  return files.get(file)?.toString('utf8') ?? '';
}

export function linesOf({ files }: Case): Buffer[] {
  const bytes = files.get(entriesFile) ?? Buffer.alloc(0);
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    if (end === -1) break;
    lines.push(bytes.subarray(at, end));
    at = end + 1;
  }
  return lines;
}

export function setLines({ files }: Case, lines: readonly Uint8Array[]): void {
  files.set(entriesFile, Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])));
}

/** The record of a line; undefined where it is no JSON object. */
export function recordOf(line: Buffer): Json | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** A record's line: canonical where it has such a form. */
export function lineOf(record: Json): Buffer {
  try {
    return Buffer.from(canonicalJson(record));
  } catch {
    return Buffer.from(JSON.stringify(record));
  }
}

/** Numbers the entries anew. */
export function renumber(given: Case): void {
  setLines(
    given,
    linesOf(given).map((line, seq) =>
      Buffer.from(line.toString('latin1').replace(/"seq":\d+(?=[,}])/, `"seq":${seq}`), 'latin1'),
    ),
  );
}

export function checkpointsOf({ files }: Case): string[] {
  return [...files.keys()].filter((file) => file.startsWith('checkpoints/'));
}

/** The ledger's name, and the key that signs a checkpoint of a size, as far as the attacker holds it. */
export function signerOf(given: Case, size: number): { name: string; privateKey: KeyObject } | undefined {
  const [name = '', , encoded = ''] = textOf(given, keysFile).split('\n')[0]?.split('+') ?? [];
  let present = Buffer.from(encoded, 'base64').subarray(1).toString('hex');
  for (const line of linesOf(given).slice(0, size)) {
    const record = recordOf(line);
    if (record?.['type'] !== 'key_rotated' || record['old_key'] !== present) continue;
    const publicKey = Buffer.from(String(record['new_key']), 'hex');
    const old = { name, publicKey: Buffer.from(present, 'hex') };
    const signed = Buffer.from(`${vkeyOf({ name, publicKey })}\n`);
    if (isSignedBy(signed, Buffer.from(String(record['signature']), 'hex'), old)) present = publicKey.toString('hex');
  }
  const privateKey = byPublicKey.get(present);
  return privateKey && { name, privateKey };
}

/** Signs the first entries as they are: what the holder of the key can do. */
export function sign(given: Case, size: number): void {
  const signer = signerOf(given, size);
  if (!signer) return;
  const root = rootOf(linesOf(given).slice(0, size).map(leafHash));
  given.files.set(`checkpoints/${checkpointName(size)}.txt`, Buffer.from(checkpointText({ size, root }, signer)));
}

/** Removes the checkpoints, and signs the entries at some sizes and, mostly, as a whole. */
export function signAgain(given: Case, random: Random): void {
  if (random.chance(0.85)) for (const file of checkpointsOf(given)) given.files.delete(file);
  const size = linesOf(given).length;
  const sizes = Array.from({ length: random.below(3) }, () => random.below(size + 1));
  for (const each of random.chance(0.85) ? [...sizes, size] : sizes) sign(given, each);
}
