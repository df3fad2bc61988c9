import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { certificatePage } from '../../../src/audit/certificate-page.ts';
import { findCertificate } from '../../../src/audit/issued-certificates.ts';
import { gatherReport } from '../../../src/audit/report-data.ts';
import { verifyDataFolder } from '../../../src/audit/verify-data-folder.ts';
import { sha256 } from '../../../src/core/digest.ts';
import { certificatePath } from '../../../src/erasure/proof/certificate-file.ts';
import { certificateSentences, newestVersion } from '../../../src/erasure/proof/certificate-sentences.ts';
import { certificateText, readCertificate, statedFacts } from '../../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../../src/erasure/proof/derive-certificate.ts';
import { issueCertificate } from '../../../src/erasure/proof/certificate-file.ts';
import { readHistories } from '../../../src/ledger/request-history.ts';
import { readKnownFile } from '../../../src/erasure/scan/known-formats.ts';
import { openLedger, readLedger } from '../../../src/ledger/ledger.ts';
import {
  issuing,
  lifeOf,
  loadStandAlone,
  naming,
  plantKeys,
  requestId,
  stated,
  tickingClock,
} from '../../ledger/ledger-fixture.ts';
import { freshFolder, openTestMirror } from '../../mirror/open-test-mirror.ts';

/** A ledger and its certificates as version 1 left them: these files never change. */
const golden = fileURLToPath(new URL('../../../docs/verifier/certificates/version-1', import.meta.url));
const certificates = join('reports', 'certificates');
const names = readdirSync(join(golden, certificates));
const requests = [1, 2, 3].map(requestId);
const settings = (dataDir: string) => ({ dataDir, ...issuing });

const textOf = (dataDir: string, request: string): string => readFileSync(certificatePath(dataDir, request, 1), 'utf8');

function copyOfGolden(dataDir = freshFolder()): string {
  cpSync(golden, dataDir, { recursive: true });
  return dataDir;
}

it('a certificate names its consumers, and stays the one on the ledger when another acknowledges later', async () => {
  const dataDir = freshFolder();
  plantKeys(dataDir);
  const ledger = openLedger(dataDir, tickingClock());
  const id = requestId(1);
  const acknowledge = (consumer: string): void =>
    ledger.append([{ type: 'acknowledged', request: id, generation: 1, consumer }]);
  const life = lifeOf(1, 1)
    .flat()
    .map(naming(['crm-team', 'warehouse']));
  const end = life.findIndex(({ type }) => type === 'certified');
  ledger.append(life.slice(0, end));
  acknowledge('warehouse');
  const issue = () =>
    issueCertificate({ ledger: () => ledger, settings: settings(dataDir) } as never, { id, generation: 1 });
  const certified = () => [{ type: 'certified' as const, request: id, generation: 1, certificate: issue() }];
  ledger.append(certified());
  const text = textOf(dataDir, id);
  expect(readCertificate(text)).toMatchObject({
    consumers: [
      { consumer: 'crm-team', acknowledged_at: null },
      { consumer: 'warehouse', acknowledged_at: expect.any(String) as string },
    ],
    statements: expect.arrayContaining([
      { code: 'recipients', says: certificateSentences[6].forRegulators.consumers },
    ]) as object[],
  });
  acknowledge('crm-team');
  // As after a kill, the same word is written again.
  rmSync(certificatePath(dataDir, id, 1));
  ledger.append(certified());
  expect(textOf(dataDir, id)).toBe(text);
  rmSync(certificatePath(dataDir, id, 1));
  ledger.checkpoint();
  const found = findCertificate(settings(dataDir), ledger.entries(), id);
  expect(found).toMatchObject({ text, sha256: sha256(text) });
  const page = certificatePage(found, '{}\n');
  expect(page).toContain('nothing recorded before this certificate');
  expect(issue()).toBe(sha256(text));
  const { problems } = await verifyDataFolder(dataDir, {}, new AbortController().signal);
  expect(problems.filter((problem) => problem.startsWith('certificate'))).toEqual([]);
});

describe('a certificate of version 1', () => {
  it.each(requests)('of %s is read, and derived again to the byte', (request) => {
    const text = textOf(golden, request);
    const certificate = readCertificate(text);
    const history = readHistories(readLedger(golden).entries()).of(request);
    if (!certificate || !history) throw new Error('it cannot be read');
    expect(certificate.format_version).toBe(1);
    const facts = {
      ledgerOrigin: certificate.ledger.origin,
      ...(statedFacts(certificate) ?? { feedUntil: '', stated }),
    };
    const [first, newest] = [1 as const, newestVersion].map((version) => deriveCertificate(history, facts, version));
    expect(first && certificateText(first)).toBe(text);
    const { format_version: version, targets, not_proven: _says, weakest_assurance: _weakest, ...same } = certificate;
    expect(version).toBe(1);
    expect(newest).toMatchObject({ ...same, format_version: newestVersion });
    expect(newest?.targets.map(({ target }) => target).toSorted()).toEqual(
      targets.map(({ target }) => target).toSorted(),
    );
  });

  it('has no sentence but its own, and among them they have each', () => {
    const says = names.flatMap((name) => [
      ...readFileSync(join(golden, certificates, name), 'utf8').matchAll(/"says":("[^"]*")/g),
    ]);
    const { neverProven, downstreamCopies, belowVerified, notReached } = certificateSentences[1];
    const sentences = [neverProven, belowVerified, notReached].flatMap((group) => Object.values(group));
    expect(new Set(says.map(([, text = '']) => JSON.parse(text) as string))).toEqual(
      new Set([...sentences, downstreamCopies]),
    );
    const text = textOf(golden, requestId(1));
    const [old, plain] = [certificateSentences[1], certificateSentences[2]].map(
      (version) => version.neverProven.service_backups,
    );
    expect(readCertificate(text.replace(old ?? '', plain ?? ''))).toBeUndefined();
    expect(readCertificate(text.replace('"format_version":1', '"format_version":2'))).toBeUndefined();
    expect(readCertificate(text.replace('"format_version":1', '"format_version":99'))).toBeUndefined();
  });

  it('stands both verifications, and one that says something else does not', async () => {
    const dataDir = copyOfGolden();
    const { signal } = new AbortController();
    expect(await verifyDataFolder(dataDir, {}, signal)).toMatchObject({ ok: true, certificates: 3 });
    const bytes = Object.fromEntries(names.map((name) => [name, readFileSync(join(golden, certificates, name))]));
    const task = { folder: join(golden, 'ledger'), certificates: bytes };
    expect((await loadStandAlone())(task)).toMatchObject({ ok: true, problems: [] });
    const path = certificatePath(dataDir, requestId(2), 1);
    writeFileSync(path, textOf(dataDir, requestId(2)).replace('"kept"', '"confirmed"'));
    expect((await verifyDataFolder(dataDir, {}, signal)).problems).toHaveLength(1);
  });

  it.each(requests)('of %s is shown, also where its file is gone', (request) => {
    const dataDir = copyOfGolden();
    const text = textOf(dataDir, request);
    const find = () => findCertificate(settings(dataDir), readLedger(dataDir).entries(), request);
    expect(find()).toMatchObject({ text, sha256: sha256(text), certificate: { format_version: 1 } });
    expect(certificatePage(find(), '{}\n')).toContain('That this target is reached');
    rmSync(certificatePath(dataDir, request, 1));
    expect(find()).toMatchObject({ text });
  });

  it('is issued again as it was, also where its file is gone', () => {
    const dataDir = copyOfGolden();
    plantKeys(dataDir);
    const issue = () =>
      issueCertificate({ ledger: () => openLedger(dataDir, tickingClock()), settings: settings(dataDir) } as never, {
        id: requestId(1),
        generation: 1,
      });
    const text = textOf(golden, requestId(1));
    expect(issue()).toBe(sha256(text));
    rmSync(certificatePath(dataDir, requestId(1), 1));
    expect(issue()).toBe(sha256(text));
    expect(textOf(dataDir, requestId(1))).toBe(text);
  });

  it('is one of our own files to a scan, and stands in the report', () => {
    const { db, dataDir } = openTestMirror();
    copyOfGolden(dataDir);
    for (const name of names) {
      const path = join(dataDir, certificates, name);
      expect(readKnownFile({ path, place: `reports/certificates/${name}` })?.values).toEqual([name.slice(0, 36)]);
    }
    const report = gatherReport({ db, settings: settings(dataDir), nowMs: Date.UTC(2026, 10, 21) } as never);
    expect(report.requests.map(({ certificate }) => certificate)).toEqual(
      requests.map((request) => sha256(textOf(golden, request))),
    );
  });
});
