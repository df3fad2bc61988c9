import { loadSettings } from '../../src/config/load-settings.ts';
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { bundleText } from '../../src/audit/bundle.ts';
import { certificatePage } from '../../src/audit/certificate-page.ts';
import { findCertificate } from '../../src/audit/issued-certificates.ts';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { sha256 } from '../../src/core/digest.ts';
import { certificatePath } from '../../src/erasure/proof/certificate-file.ts';
import { issueCertificate } from '../../src/erasure/proof/certificate-file.ts';
import { databasePath } from '../../src/mirror/database.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { issuing, lifeOf, plantKeys, requestId, tickingClock } from '../ledger/ledger-fixture.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { writeArchive } from './archive-fixture.ts';

const { signal } = new AbortController();

function archiveFolder(): string {
  const { db, dataDir } = writeArchive(freshFolder(), 12);
  onTestFinished(() => {
    db.close();
  });
  return dataDir;
}

it('a data folder as the program leaves it has nothing wrong', async () => {
  const dataDir = archiveFolder();
  const verdict = await verifyDataFolder(dataDir, {}, signal);
  expect(verdict).toMatchObject({ ok: true, certificates: 5, problems: [] });
  expect(verdict.notes.some((note) => note.includes('Pass `--checkpoint`'))).toBe(true);
});

it('says so where there is no mirror to be held against the ledger', async () => {
  const { db, dataDir } = writeArchive(freshFolder(), 12);
  db.close();
  rmSync(databasePath(dataDir));
  expect(await verifyDataFolder(dataDir, {}, signal)).toMatchObject({
    ok: true,
    notes: expect.arrayContaining(['mirror.db: it is missing, so its tables were not held against the ledger']),
  });
});

const first = (dataDir: string): string => certificatePath(dataDir, requestId(1), 1);

it.each<[string, (dataDir: string) => void, string]>([
  [
    'a certificate that was changed',
    (dataDir) => writeFileSync(first(dataDir), readFileSync(first(dataDir), 'utf8').replace('false', 'true')),
    'it is not the one on the ledger',
  ],
  ['a certificate that is gone', (dataDir) => rmSync(first(dataDir)), 'its file is missing'],
  [
    'a certificate of nobody',
    (dataDir) => writeFileSync(certificatePath(dataDir, requestId(99), 1), '{}'),
    'it is no certificate',
  ],
  [
    'a ledger that was cut short and signed again, held against a kept checkpoint',
    (dataDir) => {
      const path = join(dataDir, 'ledger/entries.jsonl');
      const lines = readFileSync(path, 'utf8').split('\n');
      writeFileSync(path, `${lines.slice(0, -2).join('\n')}\n`);
      rmSync(join(dataDir, 'ledger/checkpoints'), { recursive: true });
      openLedger(dataDir, tickingClock()).checkpoint();
    },
    'kept checkpoint: the checkpoint covers more entries than there are',
  ],
  [
    'a line that was added',
    (dataDir) => appendFileSync(join(dataDir, 'ledger/entries.jsonl'), '{"type":"sealed"}\n'),
    'the line holds something that no record of a ledger holds',
  ],
])('%s is told in one sentence', async (_what, harm, sentence) => {
  const dataDir = archiveFolder();
  const checkpoint = openLedger(dataDir, tickingClock()).checkpoint().text;
  harm(dataDir);
  const { ok, problems } = await verifyDataFolder(dataDir, { checkpoint }, signal);
  expect(ok).toBe(false);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(sentence);
});

it('without a kept checkpoint, a ledger that was cut short and signed again passes: the report says so, and this is why', async () => {
  const dataDir = archiveFolder();
  const folder = join(dataDir, 'ledger');
  const lines = readFileSync(join(folder, 'entries.jsonl'), 'utf8').split('\n');
  const cut = lines.findIndex((line) => line.includes('"type":"certified"'));
  expect(cut).toBeGreaterThan(9);
  writeFileSync(join(folder, 'entries.jsonl'), `${lines.slice(0, cut).join('\n')}\n`);
  renameSync(join(folder, 'checkpoints'), join(freshFolder(), 'checkpoints'));
  rmSync(join(dataDir, 'reports'), { recursive: true });
  const { problems } = await verifyDataFolder(dataDir, {}, signal);
  expect(problems).toEqual(['ledger: no good checkpoint covers any entry: anyone may have written them']);
  openLedger(dataDir, tickingClock()).checkpoint();
  expect((await verifyDataFolder(dataDir, {}, signal)).ok).toBe(true);
});

it('a certificate that is on the ledger and says something else than it is told', async () => {
  const dataDir = freshFolder();
  plantKeys(dataDir);
  const ledger = openLedger(dataDir, tickingClock());
  const life = lifeOf(1, 1);
  for (const records of life.slice(0, 15)) ledger.append(records);
  ledger.append([
    { type: 'result', requests: [requestId(1)], target: 'upstream.person', result: 'deleted', assurance: 'observed' },
  ]);
  const { settings } = loadSettings({}, { set: [{ path: 'dataDir', value: dataDir }] });
  issueCertificate({ ledger: () => ledger, settings }, { id: requestId(1), generation: 1 });
  const better = readFileSync(first(dataDir), 'utf8').replaceAll('"hits":12', '"hits":99');
  writeFileSync(first(dataDir), better);
  ledger.append([{ type: 'certified', request: requestId(1), generation: 1, certificate: sha256(better) }]);
  ledger.checkpoint();
  const { problems } = await verifyDataFolder(dataDir, {}, signal);
  expect(problems).toEqual([`certificate ${requestId(1)}-g1.json: it says something else than the ledger's entries`]);
});

it('a certificate that was overtaken is told, with its page', async () => {
  const dataDir = archiveFolder();
  const size = readLedger(dataDir).size();
  const found = (): ReturnType<typeof findCertificate> =>
    findCertificate({ dataDir, ...issuing }, readLedger(dataDir).entries(), requestId(1));
  const write = (): string => {
    const page = certificatePage(found(), bundleText(dataDir, readLedger(dataDir), found()));
    writeFileSync(join(dataDir, 'reports/certificate-1.html'), page);
    return page;
  };
  const add = (record: LedgerRecord): void => {
    const ledger = openLedger(dataDir, tickingClock(Date.UTC(2027, 0, 1)));
    ledger.append([record]);
    ledger.checkpoint();
  };
  expect(write()).not.toContain('Superseded');
  add({ type: 'readmitted', request: requestId(1), generation: 1, reason: '7'.repeat(64), entries: 3 });
  const named = `certificate ${requestId(1)}-g1.json: superseded: the ledger says since: readmitted (entry ${size})`;
  const page =
    'reports/certificate-1.html: when it was made, the ledger said something else against its certificate than now';
  const { notes } = await verifyDataFolder(dataDir, {}, signal);
  expect(notes).toEqual(expect.arrayContaining([named, page]));
  expect(write()).toContain('the person was let in again on purpose');
  const again = await verifyDataFolder(dataDir, {}, signal);
  expect(again.notes).not.toContain(page);
  expect(JSON.stringify(again.problems)).not.toContain('certificate');
  add({ type: 'reopened', request: requestId(1), generation: 2, reason: 'residue_found' });
  const { problems } = await verifyDataFolder(dataDir, {}, signal);
  expect(problems).toContain(`${named}, reopened residue_found (entry ${size + 1})`);
});
