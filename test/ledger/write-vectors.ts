import { hash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { verify } from '../../docs/verifier/verify.mjs';
import { isoTime } from '../../src/core/clock.ts';
import { checkpointText, readCheckpoint, readLedgerOrigin } from '../../src/ledger/checkpoint.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { rootOf } from '../../src/ledger/merkle-proof.ts';
import { leafHash } from '../../src/ledger/merkle.ts';
import { privateKeyOf, publicKeyOf, signBytes, vkeyOf } from '../../src/ledger/note.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { anchor, anchoredVectors, policyText, type AnchoredVector } from './anchored-vectors.ts';
import { lifeOf, lifeOfBatch, naming, plantKeys, requestId, tickingClock, writeSmallLedger } from './ledger-fixture.ts';

/** A test vector: what is done to a good ledger, and what an auditor kept of it before. */
type Vector = {
  name: string;
  change: (folder: string) => void;
  keeps?: readonly ('key' | 'checkpoint')[];
  /** When it is verified: within an hour of its last entry, where not said otherwise. */
  nowMs?: number;
  /** The policy that is given, made of the good ledger. */
  policy?: (folder: string) => string;
};

const anHourLater = Date.UTC(2026, 10, 20, 13);
const turnOfYear = Date.UTC(2027, 0, 1);
const inTheNextYear = Date.UTC(2027, 0, 1, 1);

const entriesFile = 'entries.jsonl';
const lastCheckpoint = 'checkpoints/000000020.txt';

/** Rewrites one file of a ledger. */
function edit(folder: string, file: string, change: (text: string) => string): void {
  writeFileSync(join(folder, file), change(readFileSync(join(folder, file), 'utf8')));
}

function editEntries(change: (lines: string[]) => string[]): Vector['change'] {
  return (folder) =>
    edit(folder, entriesFile, (text) =>
      change(text.split('\n').slice(0, -1))
        .map((line) => `${line}\n`)
        .join(''),
    );
}

/** Signs the entries as they are with the ledger's own newest key, as only who holds it can. */
function signAgain(folder: string): void {
  const lines = readFileSync(join(folder, entriesFile), 'utf8').split('\n').slice(0, -1);
  const [name = ''] = readFileSync(join(folder, 'public-keys.txt'), 'utf8').split('+');
  const root = rootOf(lines.map((line) => leafHash(Buffer.from(line))));
  const signer = { name, privateKey: privateKeyOf(Buffer.alloc(32, 0x22)) };
  writeFileSync(join(folder, lastCheckpoint), checkpointText({ size: lines.length, root }, signer));
}

/** Another ledger, with a key of its own, under the name of the first. */
function takeName(folder: string): void {
  const name = readLedgerOrigin(join(folder, '..')) ?? '';
  writeAnew(folder);
  const privateKey = privateKeyOf(Buffer.alloc(32, 0x33));
  writeFileSync(join(folder, 'public-keys.txt'), `${vkeyOf({ name, publicKey: publicKeyOf(privateKey) })}\n`);
  const [file = ''] = readdirSync(join(folder, 'checkpoints'));
  const { size, root } = readCheckpoint(readFileSync(join(folder, 'checkpoints', file), 'utf8')) ?? raise();
  writeFileSync(join(folder, 'checkpoints', file), checkpointText({ size, root }, { name, privateKey }));
}

function raise(): never {
  throw new Error('no checkpoint');
}

/** Another ledger, with a key of its own, in the place of the first. */
function writeAnew(folder: string): void {
  const dataDir = join(folder, '..');
  rmSync(folder, { recursive: true });
  plantKeys(dataDir);
  writeFileSync(join(dataDir, 'keys/ledger.key'), `${'33'.repeat(32)}\n`);
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append(lifeOf(7, 1).flat());
  ledger.checkpoint();
}

const vectors: Vector[] = [
  { name: 'good', change: () => undefined },
  { name: 'good-and-kept', change: () => undefined, keeps: ['key', 'checkpoint'] },
  { name: 'not-json', change: editEntries((lines) => lines.with(2, '{')) },
  {
    name: 'not-canonical',
    change: editEntries((lines) => lines.map((line) => line.replace('"epoch":1', '"epoch":1.0'))),
  },
  { name: 'not-in-schema', change: editEntries((lines) => lines.map((line) => line.replace('mirror', 'Mirror'))) },
  { name: 'changed', change: editEntries((lines) => lines.map((line) => line.replace('"persons":1', '"persons":2'))) },
  { name: 'removed', change: editEntries((lines) => lines.toSpliced(6, 1)) },
  { name: 'swapped', change: editEntries((lines) => lines.with(6, lines[7] ?? '').with(7, lines[6] ?? '')) },
  { name: 'repeated', change: editEntries((lines) => lines.toSpliced(3, 0, lines[3] ?? '')) },
  { name: 'cut', change: editEntries((lines) => lines.slice(0, 15)) },
  { name: 'torn', change: (folder) => edit(folder, entriesFile, (text) => text.slice(0, -20)) },
  {
    name: 'purged-without-intent',
    change: (folder) => {
      editEntries((lines) =>
        lines.flatMap((line, at) =>
          at === 6
            ? []
            : [line.replace(/"seq":(\d+)/, (_all, seq: string) => `"seq":${Number(seq) - (at > 6 ? 1 : 0)}`)],
        ),
      )(folder);
      rmSync(join(folder, lastCheckpoint));
      rmSync(join(folder, 'checkpoints/000000013.txt'));
    },
  },
  { name: 'clock-set-back', change: (folder) => appendLater(folder, Date.UTC(2020, 0, 1)) },
  { name: 'unsigned', change: (folder) => appendLater(folder, turnOfYear), nowMs: inTheNextYear },
  { name: 'unsigned-for-long', change: (folder) => appendLater(folder, turnOfYear), nowMs: Date.UTC(2027, 0, 2, 1) },
  { name: 'nothing-signed', change: (folder) => rmSync(join(folder, 'checkpoints'), { recursive: true }) },
  { name: 'fence-in-parts', change: (folder) => appendFence(folder, [undefined, true, true]), nowMs: inTheNextYear },
  { name: 'fence-in-parts-without-beginning', change: (folder) => appendFence(folder, [true]), nowMs: inTheNextYear },
  { name: 'batch', change: appendBatch, nowMs: inTheNextYear },
  { name: 'batch-with-residue', change: (folder) => appendBatch(folder, 1), nowMs: inTheNextYear },
  { name: 'published', change: (folder) => appendPublications(folder, 'a'.repeat(64)), nowMs: inTheNextYear },
  {
    name: 'published-another-manifest',
    change: (folder) => appendPublications(folder, 'b'.repeat(64)),
    nowMs: inTheNextYear,
  },
  { name: 'copies', change: (folder) => appendCopies(folder, 'copy_gone'), nowMs: inTheNextYear },
  { name: 'copy-elsewhere', change: (folder) => appendCopies(folder), nowMs: inTheNextYear },
  { name: 'copy-forgotten', change: (folder) => appendCopies(folder, 'copy_forgotten'), nowMs: inTheNextYear },
  { name: 'acknowledged', change: appendConsumers, nowMs: inTheNextYear },
  { name: 'acknowledged-too-early', change: (folder) => appendConsumers(folder, 4), nowMs: inTheNextYear },
  { name: 'access', change: (folder) => appendAccess(folder, 4), nowMs: inTheNextYear },
  { name: 'access-never-asked', change: (folder) => appendAccess(folder, 5), nowMs: inTheNextYear },
  {
    name: 'checkpoint-changed',
    change: (folder) => edit(folder, 'checkpoints/000000005.txt', (text) => text.replace('\n5\n', '\n6\n')),
  },
  {
    name: 'checkpoint-of-another-key',
    change: (folder) => edit(folder, 'public-keys.txt', (text) => `${text.split('\n')[1] ?? ''}\n`),
  },
  { name: 'keys-missing', change: (folder) => rmSync(join(folder, 'public-keys.txt')) },
  { name: 'name-taken', change: takeName },
  { name: 'written-anew', change: writeAnew },
  { name: 'written-anew-key-kept', change: writeAnew, keeps: ['key'] },
  { name: 'cut-with-its-checkpoint', change: cutWithCheckpoint },
  { name: 'cut-with-its-checkpoint-kept', change: cutWithCheckpoint, keeps: ['key', 'checkpoint'] },
  { name: 'signed-again', change: changeAndSignAgain, keeps: ['key'] },
  { name: 'rotated-to-a-key-of-small-order', change: rotateToSmallOrder, nowMs: inTheNextYear },
  { name: 'signed-by-a-point-of-small-order', change: signByNeutral },
  { name: 'signed-again-checkpoint-kept', change: changeAndSignAgain, keeps: ['key', 'checkpoint'] },
];

/** Appends records, at the turn of the year unless told otherwise. */
function append(folder: string, records: LedgerRecord[], atMs = turnOfYear): void {
  openLedger(join(folder, '..'), tickingClock(atMs)).append(records);
}

function appendLater(folder: string, atMs: number): void {
  append(folder, lifeOf(2, 2).slice(0, 2).flat(), atMs);
}

/** A second request, fenced by several entries, encrypted as the program writes them since it has a restore key. */
function appendFence(folder: string, parts: readonly (true | undefined)[]): void {
  const life = lifeOf(2, 2).flat().slice(0, 5);
  const records = life.flatMap((record): LedgerRecord[] => {
    if (record.type !== 'fencing') return [record];
    const fence = record.fence.map(({ kind }) => ({ kind, encrypted: 'e'.repeat(64) }));
    return parts.map((continued) => ({ ...record, fence, ...(continued && { continued }) }));
  });
  append(folder, records);
}

/** Two requests of one batch; where `hits` is above 0, a last scan has found something of the second one. */
function appendBatch(folder: string, hits = 0): void {
  const scan: LedgerRecord = {
    type: 'scan',
    requests: [requestId(3)],
    phase: 'verify',
    files: 9,
    bytes: 9,
    needles: 9,
    hits,
  };
  const records = lifeOfBatch([2, 3], 2).flatMap((record) =>
    record.type === 'awaiting_upstream' && hits > 0 ? [record, scan] : [record],
  );
  append(folder, records);
}

/** A second request with two consumers of the published files, of which one has deleted too; `at`: after so many records. */
function appendConsumers(folder: string, at = Infinity): void {
  const life = lifeOf(2, 2)
    .flat()
    .map(naming(['crm-team', 'warehouse']));
  const about = { request: requestId(2), generation: 1 };
  append(
    folder,
    life.toSpliced(at, 0, { type: 'acknowledged', ...about, consumer: 'warehouse', note: 'e'.repeat(64) }),
  );
}

/** Two requests for access, of which one is cancelled; answered is the one with that number. */
function appendAccess(folder: string, answered: number): void {
  const of = (n: number) => ({ request: requestId(n), generation: 1 });
  const asked = { subject: 'a'.repeat(64), authorisation: 'b'.repeat(64), due_at: '2027-01-20T12:00:00.000Z' };
  append(folder, [
    { type: 'asked', ...of(3), ...asked, identity: 'logged_in' },
    { type: 'asked', ...of(4), ...asked },
    { type: 'cancelled', ...of(3) },
    { type: 'answered', ...of(answered) },
  ]);
}

/** A second request, of a project that two machines had; said of the first one's copy is only what is given. */
function appendCopies(folder: string, said?: 'copy_gone' | 'copy_forgotten'): void {
  const [one, two] = ['1'.repeat(32), '2'.repeat(32)];
  const requests = [requestId(2)];
  const life = lifeOf(2, 2).flat();
  const copies: LedgerRecord = {
    type: 'result',
    requests,
    target: 'copies',
    result: 'absent',
    assurance: 'observed',
    machines: ['two'],
  };
  append(folder, [
    { type: 'taken_over', machine: 'one', token: 1, copy: one },
    { type: 'taken_over', machine: 'two', token: 2, copy: two },
    ...(said ? [{ type: said, copy: one } as const] : []),
    ...life.flatMap((record): LedgerRecord[] => (record.type === 'locally_verified' ? [record, copies] : [record])),
  ]);
}

/** The life of a snapshot, whose second manifest is said to stand as `manifest`. */
function appendPublications(folder: string, manifest: string): void {
  const of = (digest: string | null) => [
    { dataset: 'persons' as const, snapshot_id: '20270101T120000.000Z', manifest: digest },
  ];
  append(folder, [
    { type: 'published', cause: 'adoption', snapshots: of('c'.repeat(64)) },
    { type: 'key_bound', key: 'fence', check: 'd'.repeat(32) },
    { type: 'key_bound', key: 'restore', check: 'e'.repeat(32) },
    { type: 'publishing', snapshots: of('a'.repeat(64)) },
    { type: 'published', cause: 'recovery', snapshots: of('c'.repeat(64)) },
    { type: 'publishing', snapshots: of('a'.repeat(64)) },
    { type: 'published', cause: 'publication', snapshots: of(manifest) },
    { type: 'publishing', snapshots: of(null) },
    { type: 'published', cause: 'publication', snapshots: of(null) },
    { type: 'differs', part: 'snapshots', items: 1 },
    { type: 'published', cause: 'repair', snapshots: of('e'.repeat(64)) },
    { type: 'mended', part: 'snapshots', items: 1 },
  ]);
}

function cutWithCheckpoint(folder: string): void {
  editEntries((lines) => lines.slice(0, 16))(folder);
  rmSync(join(folder, lastCheckpoint));
}

function changeAndSignAgain(folder: string): void {
  editEntries((lines) => lines.map((line) => line.replace('"certificate":"dddd', '"certificate":"eeee')))(folder);
  signAgain(folder);
}

/** Hands over to a key of which everybody can make the signatures: it is the neutral point of the curve. */
function rotateToSmallOrder(folder: string): void {
  const [name = ''] = readFileSync(join(folder, 'public-keys.txt'), 'utf8').split('+');
  const neutral = Buffer.concat([Buffer.of(1), Buffer.alloc(31)]);
  const line = `${vkeyOf({ name, publicKey: neutral })}\n`;
  const oldKey = privateKeyOf(Buffer.alloc(32, 0x22));
  append(folder, [
    {
      type: 'key_rotated',
      old_key: publicKeyOf(oldKey).toString('hex'),
      new_key: neutral.toString('hex'),
      signature: signBytes(Buffer.from(line), oldKey).toString('hex'),
    },
  ]);
  edit(folder, 'public-keys.txt', (text) => text + line);
  const lines = readFileSync(join(folder, entriesFile), 'utf8').split('\n').slice(0, -1);
  const root = rootOf(lines.map((each) => leafHash(Buffer.from(each))));
  const signer = { name, publicKey: neutral, sign: () => Buffer.concat([neutral, Buffer.alloc(32)]) };
  writeFileSync(join(folder, 'checkpoints/000000021.txt'), checkpointText({ size: lines.length, root }, signer));
}

const order = 2n ** 252n + 27742317777372353535851937790883648493n;
const numberIn = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`) % order;

/**
 * Signs the newest checkpoint so that the first half of the signature is the neutral point: by its equation alone it is right
 * (RFC 8032, 5.1.7). Some libraries take it, and others do not.
 */
function signByNeutral(folder: string): void {
  const [name = ''] = readFileSync(join(folder, 'public-keys.txt'), 'utf8').split('+');
  const seed = Buffer.alloc(32, 0x22);
  const publicKey = publicKeyOf(privateKeyOf(seed));
  const neutral = Buffer.concat([Buffer.of(1), Buffer.alloc(31)]);
  const secret = hash('sha512', seed, 'buffer').subarray(0, 32);
  secret[0] = (secret[0] ?? 0) & 0xf8;
  secret[31] = ((secret[31] ?? 0) & 0x7f) | 0x40;
  const sign = (content: Buffer): Buffer => {
    const factor = numberIn(hash('sha512', Buffer.concat([neutral, publicKey, content]), 'buffer'));
    const answer = Buffer.from(((factor * numberIn(secret)) % order).toString(16).padStart(64, '0'), 'hex');
    return Buffer.concat([neutral, answer.toReversed()]);
  };
  const { size, root } = readCheckpoint(readFileSync(join(folder, lastCheckpoint), 'utf8')) ?? raise();
  writeFileSync(join(folder, lastCheckpoint), checkpointText({ size, root }, { name, publicKey, sign }));
}

function withAnchors({ name, anchoring, change, policy, keyLine, nowMs }: AnchoredVector): Vector {
  return {
    name,
    policy: (folder) => policyText(folder, policy, keyLine),
    change: (folder) => {
      anchor(folder, anchoring);
      change?.(folder);
    },
    ...(nowMs === undefined ? {} : { nowMs }),
  };
}

/** Writes all test vectors to a folder: what they consist of, and the verdict that is right. Always the same bytes. */
export function writeVectors(target: string): void {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const all = [...vectors, ...anchoredVectors(signAgain).map(withAnchors)];
  const index = all.map(({ name, change, keeps = [], nowMs = anHourLater, policy }) => {
    const dataDir = join(target, name);
    writeSmallLedger(dataDir);
    const folder = join(dataDir, 'ledger');
    const kept: { publicKey?: string; checkpoint?: string } = {};
    if (keeps.includes('key'))
      kept.publicKey = `${readFileSync(join(folder, 'public-keys.txt'), 'utf8').split('\n')[0] ?? ''}\n`;
    if (keeps.includes('checkpoint')) kept.checkpoint = readFileSync(join(folder, lastCheckpoint), 'utf8');
    const policyGiven = policy?.(folder);
    change(folder);
    rmSync(join(dataDir, 'keys'), { recursive: true });
    cpSync(folder, dataDir, { recursive: true });
    rmSync(folder, { recursive: true });
    const verdict = verify({ folder: dataDir, ...kept, now: nowMs, policy: policyGiven });
    const { publicKey = null, checkpoint = null } = kept;
    return { name, now: isoTime(nowMs), kept: { publicKey, checkpoint, policy: policyGiven ?? null }, verdict };
  });
  writeFileSync(join(target, 'vectors.json'), `${JSON.stringify(index, null, 2)}\n`);
}

// Run by itself, it writes those of the documentation.
if (import.meta.main) writeVectors(fileURLToPath(new URL('../../docs/verifier/vectors', import.meta.url)));
