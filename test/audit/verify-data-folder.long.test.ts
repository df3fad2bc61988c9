import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleText, writeForOthers } from '../../src/audit/bundle.ts';
import { certificatePage } from '../../src/audit/certificate-page.ts';
import { findCertificate } from '../../src/audit/issued-certificates.ts';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { settingsWith } from '../config/settings-with.ts';
import { AppError } from '../../src/core/errors.ts';
import { sha256 } from '../../src/core/digest.ts';
import { certificatePath, issueCertificate } from '../../src/erasure/proof/certificate-file.ts';
import { databasePath } from '../../src/mirror/database.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { issuing, lifeOf, plantKeys, requestId, tickingClock } from '../ledger/ledger-fixture.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { writeArchive } from './archive-fixture.ts';

const { signal } = new AbortController();
const page = 'reports/certificate-1.html';
const bundle = 'reports/bundle-1.json';
const drill = 'reports/drills/2026-11-20-0.json';
const certificate = `reports/certificates/${requestId(1)}-g1.json`;
const entries = 'ledger/entries.jsonl';

/** A folder with certificates, one of them as a page and as a bundle, with a drill and a report. */
let whole: string;
let dataDir: string;
const path = (place: string): string => join(dataDir, place);

beforeAll(() => {
  whole = join(mkdtempSync(join(tmpdir(), 'mirror-whole-')), 'whole');
  const { db, settings } = writeArchive(whole, 12);
  db.close();
  mkdirSync(join(whole, 'reports/drills'), { recursive: true });
  writeFileSync(join(whole, drill), '{"outcome":"passed"}\n');
  const ledger = openLedger(whole, tickingClock(Date.UTC(2027, 0, 1)));
  ledger.append([{ type: 'drill', outcome: 'passed', steps: 1, report: sha256('{"outcome":"passed"}\n') }]);
  ledger.checkpoint();
  const found = findCertificate(settings, ledger, requestId(1));
  const text = bundleText(whole, ledger, found);
  writeFileSync(join(whole, bundle), text);
  writeFileSync(join(whole, page), certificatePage(found, text));
  writeFileSync(join(whole, 'reports/audit-2026.html'), 'a report');
});
afterAll(() => rmSync(join(whole, '..'), { recursive: true, force: true }));

function copy(): void {
  dataDir = join(freshFolder(), 'copy');
  cpSync(whole, dataDir, { recursive: true });
}

const edit = (place: string, change: (text: string) => string): void =>
  writeFileSync(path(place), change(readFileSync(path(place), 'utf8')));

it('a folder as the program leaves it is whole, later checkpoints or not, with a mirror or without', async () => {
  copy();
  const verdict = await verifyDataFolder(dataDir, {}, signal);
  expect(verdict).toMatchObject({ ok: true, certificates: 5, problems: [] });
  expect(verdict.notes.some((note) => note.includes('(`--checkpoint`)'))).toBe(true);
  rmSync(databasePath(dataDir));
  openLedger(dataDir, tickingClock(Date.UTC(2027, 0, 2))).append([
    { type: 'replayed', epoch_from: 0, epoch_to: 0, rows: 0 },
  ]);
  openLedger(dataDir, tickingClock(Date.UTC(2027, 0, 3))).checkpoint();
  const { problems, notes, hasReadMirror } = await verifyDataFolder(dataDir, {}, signal);
  expect(problems).toEqual([]);
  expect(notes.join('\n')).toContain('reports/: 1 files show what was so when they were made, and were not checked');
  expect(notes).toContain('mirror.db: it is missing, so its tables were not held against the ledger');
  expect(hasReadMirror).toBe(false);
});

it('a mirror that is no database is a problem, and a copy that others may read too is noted', async () => {
  copy();
  writeFileSync(databasePath(dataDir), 'x'.repeat(120_000));
  const open = await verifyDataFolder(dataDir, {}, signal);
  expect(open).toMatchObject({ ok: true, hasReadMirror: false });
  expect(open.notes.join('\n')).toContain(
    'mirror.db: its tables were not held against the ledger: other users may read',
  );
  for (const place of ['', 'keys']) chmodSync(path(place), 0o700);
  for (const name of readdirSync(path('keys'))) chmodSync(path(`keys/${name}`), 0o600);
  const { ok, problems } = await verifyDataFolder(dataDir, {}, signal);
  expect([ok, problems]).toEqual([
    false,
    [
      expect.stringMatching(
        /^mirror\.db: .*SQLITE_NOTADB.*; restore it from a backup, or move it away and sync again$/,
      ),
    ],
  ]);
});

const oldVersion = (text: string): string =>
  text.replace(/content="analytics-mirror [^"]*"/, 'content="analytics-mirror 0.0.1"');
const anHourAgo = Date.now() / 1000 - 3700;

it.each<[what: string, harm: () => void, told: string]>([
  [
    'a certificate that was changed',
    () => edit(certificate, (text) => text.replace('false', 'true')),
    'it is not the one on the ledger',
  ],
  ['a certificate that is gone', () => rmSync(path(certificate)), 'its file is missing'],
  [
    'a certificate of nobody',
    () => writeFileSync(certificatePath(dataDir, requestId(99), 1), '{}'),
    'it is no certificate',
  ],
  [
    'a line that was added',
    () => appendFileSync(path(entries), '{"type":"sealed"}\n'),
    'the line holds something that no record of a ledger holds',
  ],
  [
    'a drill that was changed',
    () => edit(drill, (text) => text.replace('passed', 'failed')),
    `${drill}: it is not on the ledger`,
  ],
  [
    'a drill that is gone',
    () => rmSync(path(drill)),
    'drill of 2027-01-01T00:00:01.000Z: it is on the ledger, but no file',
  ],
  [
    'a drill of no ledger',
    () => writeFileSync(path('reports/drills/more.json'), '{}'),
    'reports/drills/more.json: it is not on the ledger',
  ],
  [
    'words of a page',
    () => edit(page, (text) => text.replace('in time', 'at once')),
    `${page}: it shows something else than its certificate`,
  ],
  [
    'a page without its proof',
    () => edit(page, (text) => text.replace('id="bundle"', '')),
    `${page}: it carries no proof`,
  ],
  [
    'the certificate in a page',
    () => edit(page, (text) => text.replaceAll(String.raw`\"days\":`, String.raw`\"days\":1`)),
    `${page}: its certificate is not on the ledger`,
  ],
  [
    'the same, under another version',
    () => edit(page, (text) => oldVersion(text).replaceAll(String.raw`\"days\":`, String.raw`\"days\":1`)),
    `${page}: its certificate is not on the ledger`,
  ],
  [
    'an entry in a page',
    () => edit(page, (text) => text.replace(String.raw`\"persons\":1`, String.raw`\"persons\":2`)),
    `${page}: its entries or proofs are not those of the ledger`,
  ],
  [
    'an entry in a bundle',
    () => edit(bundle, (text) => text.replace(String.raw`\"persons\":1`, String.raw`\"persons\":2`)),
    `${bundle}: its entries or proofs are not those of the ledger`,
  ],
  [
    'keys in a bundle',
    () => edit(bundle, (text) => text.replace('"public_keys":"', '"public_keys":"x')),
    `${bundle}: ledger/public-keys.txt lacks keys that it carries`,
  ],
  [
    'a folder as a page',
    () => {
      rmSync(path(page));
      mkdirSync(path(page));
    },
    `${page}: it is no file that can be read`,
  ],
  [
    'a draft of long ago',
    () => {
      writeFileSync(path('reports/certificates/x.draft-aa85c9c4-37a1-47a0-9a86-1fb7fbe4606c'), '');
      utimesSync(path('reports/certificates/x.draft-aa85c9c4-37a1-47a0-9a86-1fb7fbe4606c'), anHourAgo, anHourAgo);
    },
    'reports/certificates/x.draft-aa85c9c4-37a1-47a0-9a86-1fb7fbe4606c: it is a draft that a killed run has left',
  ],
])('%s: is named in one sentence', async (_what, harm, told) => {
  copy();
  harm();
  const { ok, problems } = await verifyDataFolder(dataDir, {}, signal);
  expect(ok).toBe(false);
  expect(problems[0]).toContain(told);
  // Of a drill that was changed, both the file and the entry are told.
  expect(problems).toHaveLength(
    problems.some((problem) => problem.startsWith('drill of') && told.startsWith(drill)) ? 2 : 1,
  );
});

it.each<[string, () => void, string]>([
  [
    'a page of another version',
    () => edit(page, oldVersion),
    `${page}: another version wrote it; the certificate that it carries is right`,
  ],
  [
    'a draft of now',
    () => writeFileSync(path('reports/drills/x.json.draft-aa85c9c4-37a1-47a0-9a86-1fb7fbe4606c'), ''),
    'it is a draft, which a run is writing or a killed one has left',
  ],
])('%s is noted', async (_what, harm, told) => {
  copy();
  harm();
  const { ok, notes } = await verifyDataFolder(dataDir, {}, signal);
  expect(ok).toBe(true);
  expect(notes.join('\n')).toContain(told);
});

const kinds: [string, (place: string) => void][] = [
  ['nothing', () => undefined],
  ['a folder', mkdirSync],
  ['a file of something else', (place) => writeFileSync(place, 'x')],
  ['a dangling link', (place) => symlinkSync('/nowhere/at/all', place)],
  ['a link to itself', (place) => symlinkSync(place, place)],
  ['a pipe', (place) => execFileSync('mkfifo', [place])],
];

describe.each([
  'ledger/entries.jsonl',
  'ledger/public-keys.txt',
  'ledger/checkpoints',
  'ledger/checkpoints/000000007.txt',
  `reports/certificates/${requestId(1)}-g1.json`,
  'reports/certificates',
  'reports',
])('in the place of %s', (place) => {
  it.each(kinds)('%s is found, and nothing breaks down or waits', async (_kind, make) => {
    copy();
    const isMore = !existsSync(path(place));
    rmSync(path(place), { recursive: true, force: true });
    make(path(place));
    const { ok, problems } = await verifyDataFolder(dataDir, {}, signal);
    expect(ok).toBe(isMore && !existsSync(path(place)) && make === kinds[0]?.[1]);
    for (const problem of problems) expect(problem).not.toMatch(/E[A-Z]{4,}|undefined|should not/);
  });
});

it('a folder without a ledger is told as before', async () => {
  copy();
  rmSync(path('ledger'), { recursive: true });
  await expect(verifyDataFolder(dataDir, {}, signal)).rejects.toThrow(AppError);
});

it('a ledger that was cut short and signed again is told by a kept checkpoint, and by nothing else: the report says so', async () => {
  copy();
  const checkpoint = openLedger(dataDir, tickingClock()).checkpoint().text;
  rmSync(path('reports'), { recursive: true });
  const lines = readFileSync(path(entries), 'utf8').split('\n');
  const cutAt = lines.findIndex((line) => line.includes('"type":"certified"'));
  expect(cutAt).toBeGreaterThan(9);
  writeFileSync(path(entries), `${lines.slice(0, cutAt).join('\n')}\n`);
  rmSync(path('ledger/checkpoints'), { recursive: true });
  const { problems } = await verifyDataFolder(dataDir, {}, signal);
  expect(problems).toEqual(['ledger: no good checkpoint covers any entry: anyone may have written them']);
  openLedger(dataDir, tickingClock()).checkpoint();
  expect((await verifyDataFolder(dataDir, {}, signal)).ok).toBe(true);
  const kept = await verifyDataFolder(dataDir, { checkpoint }, signal);
  expect(kept.problems).toEqual([
    expect.stringContaining('kept checkpoint: the checkpoint covers more entries than there are'),
  ]);
});

it('a certificate that is on the ledger and says something else than it is told', async () => {
  dataDir = freshFolder();
  plantKeys(dataDir);
  const ledger = openLedger(dataDir, tickingClock());
  const life = lifeOf(1, 1);
  for (const records of life.slice(0, 15)) ledger.append(records);
  ledger.append([
    { type: 'result', requests: [requestId(1)], target: 'upstream.person', result: 'deleted', assurance: 'observed' },
  ]);
  const settings = settingsWith({ dataDir });
  issueCertificate({ ledger: () => ledger, settings }, { id: requestId(1), generation: 1 });
  edit(certificate, (text) => text.replaceAll('"hits":12', '"hits":99'));
  const better = readFileSync(path(certificate), 'utf8');
  ledger.append([{ type: 'certified', request: requestId(1), generation: 1, certificate: sha256(better) }]);
  ledger.checkpoint();
  const { problems } = await verifyDataFolder(dataDir, {}, signal);
  expect(problems).toEqual([`certificate ${requestId(1)}-g1.json: it says something else than the ledger's entries`]);
});

it('a certificate that was overtaken is told, with its page', async () => {
  copy();
  const size = readLedger(dataDir).size();
  const found = (): ReturnType<typeof findCertificate> =>
    findCertificate({ dataDir, ...issuing }, readLedger(dataDir), requestId(1));
  const write = (): string => {
    const text = certificatePage(found(), bundleText(dataDir, readLedger(dataDir), found()));
    writeFileSync(path(page), text);
    return text;
  };
  const add = (record: LedgerRecord): void => {
    const ledger = openLedger(dataDir, tickingClock(Date.UTC(2027, 0, 2)));
    ledger.append([record]);
    ledger.checkpoint();
  };
  expect(write()).not.toContain('Superseded');
  add({ type: 'readmitted', request: requestId(1), generation: 1, reason: '7'.repeat(64), entries: 3 });
  const named = `certificate ${requestId(1)}-g1.json: superseded: the ledger says since: readmitted (entry ${size})`;
  const older = `${page}: when it was made, the ledger said something else against its certificate than now`;
  const { notes } = await verifyDataFolder(dataDir, {}, signal);
  expect(notes).toEqual(expect.arrayContaining([named, older]));
  expect(write()).toContain('the person was let in again on purpose');
  const again = await verifyDataFolder(dataDir, {}, signal);
  expect(again.notes).not.toContain(older);
  expect(JSON.stringify(again.problems)).not.toContain('certificate');
  add({ type: 'reopened', request: requestId(1), generation: 2, reason: 'residue_found' });
  const { problems } = await verifyDataFolder(dataDir, {}, signal);
  expect(problems).toContain(`${named}, reopened residue_found (entry ${size + 1})`);
});

it('the page of the verifier goes into reports/ with what is written there for others, and a changed one is named', async () => {
  copy();
  const written = writeForOthers({ dataDir, out: undefined, name: 'audit-2026.html' }, () => 'a report');
  expect(written).toEqual({ file: path('reports/audit-2026.html'), verifier: path('reports/verify.html') });
  const shipped = readFileSync(new URL('../../docs/verifier/verify.html', import.meta.url), 'utf8');
  expect(readFileSync(written.verifier, 'utf8') === shipped).toBe(true);
  const whole = await verifyDataFolder(dataDir, {}, signal);
  expect(whole.notes.join('\n')).not.toContain('verify.html');
  edit('reports/verify.html', (text) => text.replace('NOT OK', 'OK'));
  const { ok, notes } = await verifyDataFolder(dataDir, {}, signal);
  expect({ ok, notes: notes.join('\n') }).toEqual({
    ok: true,
    notes: expect.stringContaining('reports/verify.html: it is not the page of this version'),
  });
  writeForOthers({ dataDir, out: undefined, name: 'audit-2026.html' }, () => 'a report');
  expect(readFileSync(written.verifier, 'utf8') === shipped).toBe(true);
});

it('a file that is written for others elsewhere has nothing put beside it', () => {
  const folder = freshFolder();
  const { verifier } = writeForOthers({ dataDir: folder, out: join(folder, 'a/b.json'), name: '' }, () => '{}');
  expect(readdirSync(folder, { recursive: true })).toEqual(['a', 'a/b.json']);
  expect(readFileSync(verifier, 'utf8')).toContain('Check a proof of erasure');
});
