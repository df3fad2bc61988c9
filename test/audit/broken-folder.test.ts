import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleText } from '../../src/audit/bundle.ts';
import { certificatePage } from '../../src/audit/certificate-page.ts';
import { findCertificate } from '../../src/audit/issued-certificates.ts';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { AppError } from '../../src/core/errors.ts';
import { sha256 } from '../../src/core/digest.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { requestId, tickingClock } from '../ledger/ledger-fixture.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { writeArchive } from './archive-fixture.ts';

const { signal } = new AbortController();
const page = 'reports/certificate-1.html';
const bundle = 'reports/bundle-1.json';
const drill = 'reports/drills/2026-11-20-0.json';

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
  const found = findCertificate(settings, ledger.entries(), requestId(1));
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

it('a folder as the program leaves it is whole, later checkpoints or not', async () => {
  copy();
  openLedger(dataDir, tickingClock(Date.UTC(2027, 0, 2))).append([
    { type: 'replayed', epoch_from: 0, epoch_to: 0, rows: 0 },
  ]);
  openLedger(dataDir, tickingClock(Date.UTC(2027, 0, 3))).checkpoint();
  const { problems, notes } = await verifyDataFolder(dataDir, {}, signal);
  expect(problems).toEqual([]);
  expect(notes.join('\n')).toContain('reports/: 1 files show what was so when they were made, and were not checked');
});

const oldVersion = (text: string): string =>
  text.replace(/content="analytics-mirror [^"]*"/, 'content="analytics-mirror 0.0.1"');
const anHourAgo = Date.now() / 1000 - 3700;

it.each<[what: string, harm: () => void, told: string]>([
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
    `${bundle}: its entries or proofs`,
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
