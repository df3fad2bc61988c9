import { readFileSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { certificatePage } from '../../../src/audit/certificate-page.ts';
import { findCertificate } from '../../../src/audit/issued-certificates.ts';
import { verifyDataFolder } from '../../../src/audit/verify-data-folder.ts';
import { sha256 } from '../../../src/core/digest.ts';
import { certificatePath, issueCertificate } from '../../../src/erasure/proof/certificate-file.ts';
import { readCertificate } from '../../../src/erasure/proof/certificate.ts';
import { openLedger } from '../../../src/ledger/ledger.ts';
import { issuing, lifeOf, naming, plantKeys, requestId, tickingClock } from '../../ledger/ledger-fixture.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';

const settings = (dataDir: string) => ({ dataDir, ...issuing });

const textOf = (dataDir: string, request: string): string => readFileSync(certificatePath(dataDir, request, 1), 'utf8');

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
  });
  acknowledge('crm-team');
  // As after a kill, the same word is written again.
  rmSync(certificatePath(dataDir, id, 1));
  ledger.append(certified());
  expect(textOf(dataDir, id)).toBe(text);
  rmSync(certificatePath(dataDir, id, 1));
  ledger.checkpoint();
  const found = findCertificate(settings(dataDir), ledger, id);
  expect(found).toMatchObject({ text, sha256: sha256(text) });
  const page = certificatePage(found, '{}\n');
  expect(page).toContain('nothing recorded before this certificate');
  expect(issue()).toBe(sha256(text));
  const { problems } = await verifyDataFolder(dataDir, {}, new AbortController().signal);
  expect(problems.filter((problem) => problem.startsWith('certificate'))).toEqual([]);
});
