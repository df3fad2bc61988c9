import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/core/digest.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, requestId, tickingClock } from './ledger-fixture.ts';

const verifier = fileURLToPath(new URL('../../docs/verifier/verify.mjs', import.meta.url));

/** Runs the verifier, copied alone to an empty folder. */
function verifyAlone(...args: string[]): { code: number; output: string } {
  const folder = temporaryFolder();
  const alone = join(folder, 'verify.mjs');
  cpSync(verifier, alone);
  try {
    return { code: 0, output: execFileSync(process.execPath, [alone, ...args], { cwd: folder, encoding: 'utf8' }) };
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string };
    return { code: status, output: stdout };
  }
}

test('the verifier alone tells the certificate that was issued from every other', () => {
  const dataDir = temporaryFolder();
  const certificate = JSON.stringify({ generation: 1, request: requestId(1) });
  const ledger = openLedger(dataDir, tickingClock());
  for (const [record] of lifeOf(1, 1))
    if (record)
      ledger.append([{ ...record, ...(record.type === 'certified' && { certificate: sha256(certificate) }) }]);
  ledger.checkpoint();
  const folder = join(dataDir, 'ledger');
  const write = (name: string, text: string): string => {
    writeFileSync(join(dataDir, name), text);
    return join(dataDir, name);
  };
  const issued = write('issued.json', certificate);
  expect(verifyAlone(folder, '--certificate', issued)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/OK\n$/),
  });
  const others = {
    other_certificate: write('changed.json', certificate.replace('}', ',"days":1}')),
    not_on_ledger: write('foreign.json', certificate.replace(requestId(1), requestId(2))),
    not_a_certificate: write('text.json', 'no certificate'),
  };
  for (const [problem, file] of Object.entries(others)) {
    const { code, output } = verifyAlone(folder, '--certificate', issued, '--certificate', file);
    expect(code).toBe(1);
    expect(output).toContain(`problem: certificate ${file}: ${problem}`);
  }
  expect(readFileSync(issued, 'utf8')).toBe(certificate);
});
