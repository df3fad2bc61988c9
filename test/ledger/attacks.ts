import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { bundleText } from '../../src/audit/bundle.ts';
import { certificatePage } from '../../src/audit/certificate-page.ts';
import { findCertificate } from '../../src/audit/issued-certificates.ts';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { sha256 } from '../../src/core/digest.ts';
import { issueCertificate } from '../../src/erasure/proof/certificate-file.ts';
import { signReceipts, writeReceipt } from '../../src/erasure/request/receipt.ts';
import { checkpointText } from '../../src/ledger/checkpoint.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { rootOf } from '../../src/ledger/merkle-proof.ts';
import { leafHash } from '../../src/ledger/merkle.ts';
import { privateKeyOf } from '../../src/ledger/note.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { verify, verifyBundle } from '../../docs/verifier/verify.mjs';
import { issuing, lifeOf, plantKeys, requestId, tickingClock } from './ledger-fixture.ts';

/** When everything is verified: within an hour of the last entry. */
const nowMs = Date.UTC(2026, 10, 20, 13);
const oldKey = privateKeyOf(Buffer.alloc(32, 0x11));
const newKey = privateKeyOf(Buffer.alloc(32, 0x22));
const { signal } = new AbortController();

/** A data folder that is attacked, and what was kept of it elsewhere. */
export type Attacked = { dataDir: string; publicKey: string; checkpoint: string };

/** Everything that the program writes of an erasure: a ledger whose key was rotated, certificate, page, bundle, receipt, drill. */
export function writeAttacked(dataDir: string): Attacked {
  plantKeys(dataDir);
  const ledger = openLedger(dataDir, tickingClock());
  const settings = { dataDir, ...issuing };
  const [received = [], ...life] = lifeOf(1, 1);
  ledger.append(received);
  ledger.checkpoint();
  for (const [step, records] of life.slice(0, 14).entries()) {
    ledger.append(records);
    if (step === 8) ledger.rotateKey();
  }
  ledger.append([{ type: 'drill', outcome: 'passed', steps: 1, report: sha256('a drill\n') }]);
  issueCertificate({ ledger: () => ledger, settings } as never, { id: requestId(1), generation: 1 });
  const certificate = sha256(readFileSync(join(dataDir, `reports/certificates/${requestId(1)}-g1.json`)));
  ledger.append([{ type: 'certified', request: requestId(1), generation: 1, certificate }]);
  ledger.append([{ type: 'sealed', request: requestId(1), generation: 1 }, ...lifeOf(2, 2).slice(0, 5).flat()]);
  const { text: checkpoint } = ledger.checkpoint();
  const found = findCertificate(settings, ledger, requestId(1));
  const bundle = bundleText(dataDir, ledger, found);
  writeFileSync(join(dataDir, 'reports/bundle-1.json'), bundle);
  writeFileSync(join(dataDir, 'reports/certificate-1.html'), certificatePage(found, bundle));
  mkdirSync(join(dataDir, 'reports/drills'));
  writeFileSync(join(dataDir, 'reports/drills/1.json'), 'a drill\n');
  const context = { ledger: () => ledger, settings, db: { prepare: () => ({ get: () => undefined }) } };
  const [receipt] = signReceipts(context as never, [{ request: requestId(1), subjectKey: '22'.repeat(32) }]);
  mkdirSync(join(dataDir, 'kept'));
  if (receipt) writeReceipt(join(dataDir, 'kept/receipt.json'), receipt);
  rmSync(join(dataDir, 'keys'), { recursive: true });
  const publicKey = `${readFileSync(join(dataDir, 'ledger/public-keys.txt'), 'utf8').split('\n')[0] ?? ''}\n`;
  return { dataDir, publicKey, checkpoint };
}

/** Whether all that stands in a folder is accepted: by the verifier, and by the program, which looks at more. Throws where they differ. */
export async function isAccepted(
  { dataDir }: Attacked,
  kept: { publicKey?: string; checkpoint?: string } = {},
): Promise<boolean> {
  const folder = join(dataDir, 'ledger');
  const task = { folder, now: nowMs, ...kept };
  const ledger = verify(task);
  const certificates = join(dataDir, 'reports/certificates');
  const isRight = (name: string): boolean =>
    verify({ ...task, certificates: { [name]: readFileSync(join(certificates, name)) } }).ok;
  const named = existsSync(certificates) ? readdirSync(certificates) : [];
  const carried = ['reports/bundle-1.json', 'reports/certificate-1.html', 'kept/receipt.json'].filter((place) =>
    existsSync(join(dataDir, place)),
  );
  const isCarried = carried.every((place) => verifyBundle({ text: readFileSync(join(dataDir, place), 'utf8') }).ok);
  const areCertificatesRight = named.every(isRight);
  const { problems } = await verifyDataFolder(dataDir, kept, signal);
  // The program reads the clock of today: entries without a signature are then there for long.
  const found = problems.filter((problem) => !/^(?:entry \d+|ledger): .*(?:24 hours|no checkpoint)/.test(problem));
  // The verifier is given certificates, and knows neither their names nor which are missing.
  const judged = found.filter(
    (problem) => !/its file is missing|it is not on the ledger|than its name says/.test(problem),
  );
  if (areCertificatesRight !== judged.every((problem) => !problem.startsWith('certificate ')) && ledger.ok)
    throw new Error(`verifier and program differ about certificates: ${found.join('; ')}`);
  return ledger.ok && isCarried && areCertificatesRight && found.length === 0;
}

/** The files that are attacked: all there are but the kept receipt's folder is one of them. */
export function filesOf(dataDir: string): string[] {
  return readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dataDir, join(entry.parentPath, entry.name)))
    .toSorted();
}

const changes: [string, (bytes: Buffer, at: number) => Buffer][] = [
  ...Array.from({ length: 8 }, (_bit, bit): (typeof changes)[number] => [
    `with bit ${bit} turned round`,
    (bytes, at) =>
      Buffer.concat([bytes.subarray(0, at), Buffer.of((bytes[at] ?? 0) ^ (1 << bit)), bytes.subarray(at + 1)]),
  ]),
  ['removed', (bytes, at) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])],
  ['twice', (bytes, at) => Buffer.concat([bytes.subarray(0, at + 1), bytes.subarray(at)])],
];
const cut: (typeof changes)[number] = ['and all behind it removed', (bytes, at) => bytes.subarray(0, at)];

/**
 * Changes single bytes of a file, each nth of all changes, and gives those that are accepted. A file that carries its proof
 * is verified alone; any other, with the whole folder.
 */
export function acceptedBytes(attacked: Attacked, file: string, nth: number): { tried: number; accepted: string[] } {
  const path = join(attacked.dataDir, file);
  const original = readFileSync(path);
  const accepted: string[] = [];
  let tried = 0;
  let index = 0;
  for (let at = 0; at < original.length; at += 1)
    for (const [what, change] of file === 'ledger/entries.jsonl' ? [...changes, cut] : changes) {
      index += 1;
      if (index % nth > 0) continue;
      if (isOnlyItsHolders(file, original, at)) continue;
      tried += 1;
      const content = change(original, at);
      if (!content.equals(original) && isFileAccepted(attacked, file, content))
        accepted.push(`byte ${at} of ${file} ${what}`);
    }
  writeFileSync(path, original);
  return { tried, accepted };
}

/** Whether a byte is of the key of a receipt. Nothing but the person's own identifier shows that it is right (VERDICTS.md). */
function isOnlyItsHolders(file: string, content: Buffer, at: number): boolean {
  if (file !== 'kept/receipt.json') return false;
  const from = content.indexOf('"subject_key": "') + '"subject_key": "'.length;
  return at >= from && at < from + 64;
}

function isFileAccepted({ dataDir, publicKey }: Attacked, file: string, content: Buffer): boolean {
  const folder = join(dataDir, 'ledger');
  const task = { folder, now: nowMs };
  if (file.startsWith('reports/certificates/')) return verify({ ...task, certificates: { it: content } }).ok;
  if (/^(?:reports\/[^/]+|kept\/receipt)\.json$/.test(file)) return verifyBundle({ text: content.toString('utf8') }).ok;
  writeFileSync(join(dataDir, file), content);
  return verify({ ...task, publicKey }).ok;
}

/**
 * An attack on a whole folder. `listed`: the row of VERDICTS.md that says what has to be kept to see it; undefined: refused with nothing.
 * `isOfMany`: one of those that differ in an entry's number only.
 */
export type Attack = { what: string; listed?: string; isOfMany?: true; change: (dataDir: string) => void };

const entriesOf = (dataDir: string): string => join(dataDir, 'ledger/entries.jsonl');
const linesOf = (dataDir: string): string[] => readFileSync(entriesOf(dataDir), 'utf8').split('\n').slice(0, -1);
const writeLines = (dataDir: string, lines: readonly string[]): void =>
  writeFileSync(entriesOf(dataDir), lines.map((line) => `${line}\n`).join(''));
const renumbered = (lines: readonly string[]): string[] =>
  lines.map((line, seq) => line.replace(/"seq":\d+/, `"seq":${seq}`));
const checkpointsOf = (dataDir: string): string => join(dataDir, 'ledger/checkpoints');
const certificateOf = (dataDir: string): string => join(dataDir, `reports/certificates/${requestId(1)}-g1.json`);

/** Signs the entries as they are, and removes the checkpoints that do not fit any more: what the holder of the key can do. */
function signAgain(dataDir: string, key = newKey): void {
  const lines = linesOf(dataDir);
  const name = readFileSync(join(dataDir, 'ledger/public-keys.txt'), 'utf8').split('+')[0] ?? '';
  for (const file of readdirSync(checkpointsOf(dataDir))) rmSync(join(checkpointsOf(dataDir), file));
  const root = rootOf(lines.map((line) => leafHash(Buffer.from(line))));
  const text = checkpointText({ size: lines.length, root }, { name, privateKey: key });
  writeFileSync(join(checkpointsOf(dataDir), `${String(lines.length).padStart(9, '0')}.txt`), text);
}

/** Removes what follows from the entries, as an attacker has to whose entries changed. */
function withoutReports(dataDir: string): void {
  for (const place of ['reports', 'kept']) rmSync(join(dataDir, place), { recursive: true, force: true });
}

function appendUnsigned(dataDir: string, records: LedgerRecord[]): void {
  const lines = linesOf(dataDir);
  const at = '2026-11-20T12:59:00.000Z';
  const more = records.map((record, index) => canonicalJson({ ...record, at, seq: lines.length + index }));
  writeLines(dataDir, [...lines, ...more]);
}

/** Another certificate of the same request, whose entry says its SHA-256; with the key, signed. */
function boast(dataDir: string, change: (text: string) => string, sign: boolean): void {
  const text = change(readFileSync(certificateOf(dataDir), 'utf8'));
  writeFileSync(certificateOf(dataDir), text);
  const digest = sha256(text);
  writeLines(
    dataDir,
    linesOf(dataDir).map((line) => line.replace(/"certificate":"[0-9a-f]{64}"/, `"certificate":"${digest}"`)),
  );
  for (const file of ['reports/bundle-1.json', 'reports/certificate-1.html', 'kept/receipt.json'])
    rmSync(join(dataDir, file));
  if (sign) signAgain(dataDir);
}

/** Changes the entries in some way that the holder of the key signs, together with all that follows. */
function rewrite(change: (lines: string[]) => string[]): Attack['change'] {
  return (dataDir) => {
    withoutReports(dataDir);
    writeLines(dataDir, renumbered(change(linesOf(dataDir))));
    signAgain(dataDir);
  };
}

const isOf =
  (type: string) =>
  (line: string): boolean =>
    line.includes(`"type":"${type}"`);
const without =
  (type: string) =>
  (lines: string[]): string[] =>
    lines.filter((line) => !isOf(type)(line));
const withLine =
  (type: string, from: RegExp | string, to: string) =>
  (lines: string[]): string[] =>
    lines.map((line) => (isOf(type)(line) ? line.replace(from, to) : line));

/** Entries without those that say the digest of a file: whoever has the key would make these files again. */
const unreported = (lines: string[]): string[] =>
  lines.filter((line) => !['certified', 'sealed', 'drill'].some((type) => isOf(type)(line)));

/** Every attack on the folder as a whole. */
export function attacksOn(original: string): Attack[] {
  const lines = linesOf(original);
  const moved = lines.flatMap((line, at): Attack[] => [
    { what: `entry ${at} removed`, change: (dir) => writeLines(dir, lines.toSpliced(at, 1)) },
    {
      what: `entry ${at} removed, the others renumbered`,
      change: (dir) => writeLines(dir, renumbered(lines.toSpliced(at, 1))),
    },
    { what: `entry ${at} twice`, change: (dir) => writeLines(dir, lines.toSpliced(at, 0, line)) },
    ...lines
      .slice(0, at)
      .map((other, place) => ({
        what: `entries ${place} and ${at} exchanged`,
        change: (dir: string) => writeLines(dir, lines.with(at, other).with(place, line)),
      })),
  ]);
  const first = lines[0] ?? '';
  const tricks: [string, string][] = [
    ['a key twice', first.replace('{', '{"at":"2026-11-20T12:00:01.000Z",')],
    ['a field more', first.replace('{', '{"__proto__":{},')],
    ['a number with a fraction', first.replace('"generation":1', '"generation":1.0')],
    ['a number with an exponent', first.replace('"generation":1', '"generation":1e0')],
    ['a number that is no safe integer', first.replace('"generation":1', '"generation":9007199254740993')],
    ['minus zero', first.replace('"seq":0', '"seq":-0')],
    ['an escape that is not needed', first.replace('manual', String.raw`\u006danual`)],
    ['a lone surrogate', first.replace('manual', String.raw`\ud800`)],
    ['a blank', first.replace(':', ': ')],
    ['a mark of byte order', `\uFEFF${first}`],
    ['a carriage return', `${first}\r`],
    ['a text where a number belongs', first.replace('"generation":1', '"generation":"1"')],
    ['upper case', first.replace(/"subject":"\w+"/, (text) => text.toUpperCase())],
    ['free text', first.replace('consent_withdrawn', 'Ann asked for it')],
    ['a day that is none', first.replace('2026-11-20', '2026-02-30')],
    ['deep nesting', '['.repeat(100_000)],
  ];
  return [
    ...moved.map((attack) => Object.assign(attack, { isOfMany: true as const })),
    ...tricks.map(([what, line]): Attack => ({
      what: `in JSON: ${what}`,
      change: (dir) => writeLines(dir, lines.with(0, line)),
    })),
    { what: 'the entries in reverse', change: (dir) => writeLines(dir, lines.toReversed()) },
    {
      what: 'two ledgers spliced',
      change: (dir) => writeLines(dir, [...lines.slice(0, 9), ...renumbered(otherLines()).slice(9)]),
    },
    { what: 'the entries of another ledger', change: (dir) => writeLines(dir, otherLines()) },
    { what: 'keys exchanged', change: (dir) => swapKeys(dir) },
    {
      what: 'the first key removed',
      change: (dir) => writeFileSync(join(dir, 'ledger/public-keys.txt'), `${keysIn(dir)[1] ?? ''}\n`),
    },
    {
      what: 'another name for the keys',
      change: (dir) =>
        edit(join(dir, 'ledger/public-keys.txt'), (text) => text.replaceAll('analytics-mirror/', 'analytics-mirror/0')),
    },
    { what: 'a checkpoint under the name of another', change: (dir) => exchangeCheckpoints(dir) },
    {
      what: 'a stranger among the checkpoints',
      change: (dir) => writeFileSync(join(checkpointsOf(dir), 'note.txt'), 'x'),
    },
    { what: 'all checkpoints removed', change: (dir) => rmSync(checkpointsOf(dir), { recursive: true }) },
    {
      what: 'the newest checkpoint removed, which covers the certificate',
      change: (dir) => rmSync(join(checkpointsOf(dir), readdirSync(checkpointsOf(dir)).at(-1) ?? '')),
    },
    { what: 'entries cut, and their checkpoints left', change: (dir) => writeLines(dir, lines.slice(0, 9)) },
    { what: 'an invented request with a certificate, appended without a key', change: inventCertificate },
    {
      what: 'a certificate that boasts, its entry changed without a key',
      change: (dir) => boast(dir, (text) => text.replaceAll('"hits":12', '"hits":99'), false),
    },
    {
      what: 'a certificate that boasts, signed with the key',
      change: (dir) => boast(dir, (text) => text.replaceAll('"hits":12', '"hits":99'), true),
    },
    {
      what: 'a certificate with nothing left to prove, signed with the key',
      change: (dir) => boast(dir, (text) => text.replace(/"not_proven":\[.*?\](?=,")/, '"not_proven":[]'), true),
    },
    {
      what: 'a certificate in other spelling',
      change: (dir) => edit(certificateOf(dir), (text) => JSON.stringify(JSON.parse(text), null, 1)),
    },
    {
      what: 'a certificate under the name of another generation',
      change: (dir) => renameSync(certificateOf(dir), certificateOf(dir).replace('g1', 'g2')),
    },
    { what: 'a certificate removed', change: (dir) => rmSync(certificateOf(dir)) },
    { what: 'a drill changed', change: (dir) => edit(join(dir, 'reports/drills/1.json'), (text) => `${text} `) },
    {
      what: 'the words of a page changed',
      change: (dir) => edit(join(dir, 'reports/certificate-1.html'), (text) => text.replace('<h1>', '<h1>All gone: ')),
    },
    {
      what: 'a rotation without the old key',
      change: rewrite(withLine('key_rotated', /"signature":"\w+"/, `"signature":"${'0'.repeat(128)}"`)),
    },
    { what: 'a scan of no file, signed with the key', change: rewrite(withLine('scan', '"files":9', '"files":0')) },
    {
      what: 'a scan for no text, signed with the key',
      change: rewrite(withLine('scan', '"needles":30', '"needles":0')),
    },
    { what: 'no scan, signed with the key', change: rewrite(without('scan')) },
    {
      what: 'no target at the service, signed with the key',
      change: rewrite((all) => all.filter((line) => !line.includes('"upstream.'))),
    },
    { what: 'a purge without an intent, signed with the key', change: rewrite(without('intent')) },
    {
      what: 'a certificate without a fence, signed with the key',
      change: rewrite((all) => all.filter((line) => !isOf('fencing')(line) && !isOf('fenced')(line))),
    },
    {
      what: 'an empty certificate target list, unverified, signed with the key',
      change: rewrite(without('locally_verified')),
    },
    // What only something that was kept shows.
    {
      what: 'entries cut, with their checkpoints and all that follows from them',
      listed: 'cut',
      change: (dir) => cutAll(dir),
    },
    { what: 'everything removed but the keys', listed: 'emptied', change: (dir) => emptied(dir) },
    {
      what: 'another ledger in its place, with a key and a name of its own',
      listed: 'replaced',
      change: (dir) => replaced(dir),
    },
    {
      what: 'an entry changed, signed with the key',
      listed: 'signed again',
      change: rewrite((all) => withLine('scoped', '"persons":1', '"persons":2')(unreported(all))),
    },
    {
      what: 'dates set back by a year, signed with the key',
      listed: 'signed again',
      change: rewrite((all) => unreported(all).map((line) => line.replace(/"at":"2026/, '"at":"2025'))),
    },
    {
      what: 'a whole request left out, signed with the key',
      listed: 'signed again',
      change: rewrite((all) => unreported(all).filter((line) => !line.includes(requestId(2)))),
    },
    {
      what: 'the past before a rotation written again with the old key, without the rotation',
      listed: 'old key',
      change: forkedBeforeRotation,
    },
    {
      what: 'entries appended without a key, within a day',
      listed: 'unsigned tail',
      change: (dir) => appendUnsigned(dir, [{ type: 'replayed', epoch_from: 0, epoch_to: 1, rows: 0 }]),
    },
    {
      what: 'older checkpoints removed',
      listed: 'fewer files',
      change: (dir) => rmSync(join(checkpointsOf(dir), readdirSync(checkpointsOf(dir))[0] ?? '')),
    },
    {
      what: 'the newest keys missing from the list',
      change: (dir) => writeFileSync(join(dir, 'ledger/public-keys.txt'), `${keysIn(dir)[0] ?? ''}\n`),
    },
    { what: 'a bundle removed', listed: 'fewer files', change: (dir) => rmSync(join(dir, 'reports/bundle-1.json')) },
    {
      what: "a stranger's signature under a checkpoint",
      listed: 'strangers',
      change: (dir) =>
        edit(
          join(checkpointsOf(dir), readdirSync(checkpointsOf(dir)).at(-1) ?? ''),
          (text) => `${text}— someone.example AAAAAAAA\n`,
        ),
    },
  ];
}

const keysIn = (dataDir: string): string[] => readFileSync(join(dataDir, 'ledger/public-keys.txt'), 'utf8').split('\n');
const edit = (path: string, change: (text: string) => string): void =>
  writeFileSync(path, change(readFileSync(path, 'utf8')));
const swapKeys = (dataDir: string): void => {
  const [one = '', two = ''] = keysIn(dataDir);
  writeFileSync(join(dataDir, 'ledger/public-keys.txt'), `${two}\n${one}\n`);
};

function exchangeCheckpoints(dataDir: string): void {
  const [one = '', two = ''] = readdirSync(checkpointsOf(dataDir)).map((file) => join(checkpointsOf(dataDir), file));
  writeFileSync(one, readFileSync(two));
}

/** The entries of another ledger, which has a key of its own. */
function otherLines(): string[] {
  const dataDir = mkdtempSync(join(tmpdir(), 'mirror-other-'));
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append(lifeOf(7, 1).flat());
  const lines = linesOf(dataDir);
  rmSync(dataDir, { recursive: true });
  return lines;
}

function inventCertificate(dataDir: string): void {
  const life = lifeOf(9, 2).flat();
  const text = readFileSync(certificateOf(dataDir), 'utf8').replaceAll(requestId(1), requestId(9));
  writeFileSync(certificateOf(dataDir).replace(requestId(1), requestId(9)), text);
  appendUnsigned(
    dataDir,
    life.map((record) => (record.type === 'certified' ? Object.assign(record, { certificate: sha256(text) }) : record)),
  );
}

function cutAll(dataDir: string): void {
  withoutReports(dataDir);
  writeLines(dataDir, linesOf(dataDir).slice(0, 1));
  for (const file of readdirSync(checkpointsOf(dataDir)).slice(1)) rmSync(join(checkpointsOf(dataDir), file));
  writeFileSync(join(dataDir, 'ledger/public-keys.txt'), `${keysIn(dataDir)[0] ?? ''}\n`);
}

function emptied(dataDir: string): void {
  withoutReports(dataDir);
  writeLines(dataDir, []);
  rmSync(checkpointsOf(dataDir), { recursive: true });
  writeFileSync(join(dataDir, 'ledger/public-keys.txt'), `${keysIn(dataDir)[0] ?? ''}\n`);
}

function replaced(dataDir: string): void {
  withoutReports(dataDir);
  rmSync(join(dataDir, 'ledger'), { recursive: true });
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append(lifeOf(7, 1).slice(0, 15).flat());
  ledger.checkpoint();
  rmSync(join(dataDir, 'keys'), { recursive: true });
}

function forkedBeforeRotation(dataDir: string): void {
  withoutReports(dataDir);
  const lines = linesOf(dataDir);
  const rotation = lines.findIndex(isOf('key_rotated'));
  writeLines(dataDir, withLine('scoped', '"persons":1', '"persons":2')(lines.slice(0, rotation)));
  writeFileSync(join(dataDir, 'ledger/public-keys.txt'), `${keysIn(dataDir)[0] ?? ''}\n`);
  signAgain(dataDir, oldKey);
}

/** A copy of a folder, changed. Remove it in the end. */
export function attackedCopy(original: Attacked, { change }: Attack): Attacked {
  const dataDir = mkdtempSync(join(tmpdir(), 'mirror-attack-'));
  cpSync(original.dataDir, dataDir, { recursive: true });
  change(dataDir);
  return { ...original, dataDir };
}
