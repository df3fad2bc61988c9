import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';
import { certificateWords } from '../../docs/verifier/certificate-words.mjs';
import { sha256 } from '../../src/core/digest.ts';
import { certificateText } from '../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../src/erasure/proof/derive-certificate.ts';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { ledgerOrigin } from '../../src/ledger/checkpoint.ts';
import type { LedgerRecord, Seen } from '../../src/ledger/record.ts';
import { laterWords } from '../../src/ledger/later-words.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, naming, requestId, stated, tickingClock } from './ledger-fixture.ts';
import { laterRecords } from './write-proof-vectors.ts';

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

type Json = Record<string, unknown>;

/** A ledger on which a request is certified with what `issue` makes of its true certificate; the file of that. */
function certified({ isSigned = true, issue = (text: string) => text, records = lifeOf(1, 1).flat() } = {}): {
  folder: string;
  file: string;
} {
  const dataDir = temporaryFolder();
  const ledger = openLedger(dataDir, tickingClock(Date.now() - 60_000));
  const facts = { ledgerOrigin: ledgerOrigin(dataDir, ledger), stated };
  const file = join(dataDir, 'certificate.json');
  for (const record of records) {
    if (record.type === 'certified') {
      const history = ledger.histories.of(requestId(1));
      const certificate = history && deriveCertificate(history, facts);
      if (!certificate) throw new Error('a history that is not whole');
      const text = issue(certificateText(certificate));
      writeFileSync(file, text);
      ledger.checkpoint();
      ledger.append([{ ...record, certificate: sha256(text) }]);
    } else ledger.append([record]);
  }
  if (isSigned) ledger.checkpoint();
  return { folder: join(dataDir, 'ledger'), file };
}

const edit =
  (change: (certificate: Json) => Json) =>
  (text: string): string =>
    canonicalJson(change(JSON.parse(text) as Json));

describe('the verifier alone, given a certificate', () => {
  it('tells the one that was issued from every other', () => {
    const { folder, file } = certified();
    expect(verifyAlone(folder, '--certificate', file)).toMatchObject({
      code: 3,
      output: expect.stringMatching(/\nOK as far as it goes: [^\n]+\n$/),
    });
    const [kept] = readFileSync(join(folder, 'public-keys.txt'), 'utf8').split('\n');
    const keptFile = join(folder, '..', 'kept.pub');
    writeFileSync(keptFile, `${kept}\n`);
    expect(verifyAlone(folder, '--public-key', keptFile, '--certificate', file)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/\nOK\n$/),
    });
    const text = readFileSync(file, 'utf8');
    const write = (name: string, content: string): string => {
      writeFileSync(join(folder, '..', name), content);
      return join(folder, '..', name);
    };
    const others = {
      other_certificate: write('changed.json', text.replace('"days":1', '"days":2')),
      not_on_ledger: write('foreign.json', text.replaceAll(requestId(1), requestId(2))),
      not_a_certificate: write('text.json', 'no certificate'),
    };
    // A name that every object has is a name like others.
    cpSync(others.other_certificate, join(folder, '..', '__proto__'));
    const named = spawnSync(process.execPath, [verifier, 'ledger', '--certificate', '__proto__'], {
      cwd: join(folder, '..'),
      encoding: 'utf8',
    });
    expect(named.stdout).toContain('problem: certificate __proto__: other_certificate');
    for (const [problem, other] of Object.entries(others)) {
      const { code, output } = verifyAlone(folder, '--certificate', file, '--certificate', other);
      expect(code).toBe(1);
      expect(output).toContain(`problem: certificate ${other}: ${problem}`);
    }
  });

  it.each<[string, (certificate: Json) => Json]>([
    ['more than was reached', (own) => ({ ...own, weakest_assurance: 'verified', not_proven: [] })],
    ['another subject', (own) => ({ ...own, subject: 'f'.repeat(64) })],
    ['an earlier end', (own) => ({ ...own, ended_at: own['received_at'] })],
    ['that nothing was left out', (own) => ({ ...own, scan: { ...(own['scan'] as Json), control: null } })],
    ['another ledger', (own) => ({ ...own, ledger: { ...(own['ledger'] as Json), origin: 'analytics-mirror/00' } })],
    ['a word more', (own) => ({ ...own, statement: 'everything was erased' })],
    ['another legal ground', (own) => ({ ...own, basis: 'objection' })],
    ['that others authorised it', (own) => ({ ...own, authorisation: 'e'.repeat(64) })],
    ['that all was reached', (own) => ({ ...own, weakest_assurance: 'observed' })],
    [
      'more of the operator than it may',
      (own) => ({ ...own, stated: { ...(own['stated'] as Json), court: 'approved' } }),
    ],
    [
      'a controller of two lines',
      (own) => ({ ...own, stated: { ...(own['stated'] as Json), controller: { name: 'A\nB', contact: null } } }),
    ],
  ])('refuses one that says %s, though its bytes are on a signed ledger', (_what, change) => {
    const { folder, file } = certified({ issue: edit(change) });
    const { code, output } = verifyAlone(folder, '--certificate', file);
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining(': says_otherwise') });
  });

  it('refuses one that follows from what everybody can have appended', () => {
    const boast = edit((own) => ({
      ...own,
      scan: { ...(own['scan'] as Json), verify: { files: 99, bytes: 4000, needles: 30, hits: 0, passed_over: 0 } },
    }));
    const { folder, file } = certified({ issue: boast, records: lifeOf(1, 1).flat().slice(0, -1) });
    expect(verifyAlone(folder, '--certificate', file).output).toContain(': says_otherwise');
    const about = { request: requestId(1), generation: 1 };
    openLedger(join(folder, '..'), tickingClock(Date.now() - 30_000)).append([
      { type: 'scan', requests: [requestId(1)], phase: 'verify', files: 99, bytes: 4000, needles: 30, hits: 0 },
      { type: 'certified', ...about, certificate: sha256(readFileSync(file)) },
    ]);
    const { code, output } = verifyAlone(folder, '--certificate', file);
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining(': unsigned_certificate') });
  });

  it('refuses one against which the ledger speaks, though everybody can have appended that all is mended', () => {
    const { folder, file } = certified({ records: [...lifeOf(1, 1).flat(), ...(laterRecords['differs'] ?? [])] });
    const ledger = openLedger(join(folder, '..'), tickingClock(Date.now() - 30_000));
    ledger.append([{ type: 'mended', part: 'snapshots', items: 1 }]);
    expect(verifyAlone(folder, '--certificate', file)).toMatchObject({
      code: 1,
      output: expect.stringContaining(': superseded'),
    });
    ledger.checkpoint();
    ledger.append([{ type: 'mended', part: 'snapshots', items: 1 }]);
    expect(verifyAlone(folder, '--certificate', file)).toMatchObject({ code: 3 });
  });

  it('refuses one whose entry everybody can have written', () => {
    const { folder, file } = certified({ isSigned: false });
    const { code, output } = verifyAlone(folder, '--certificate', file);
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining(': unsigned_certificate') });
  });
});

test.each([
  ['partly_deleted', '2026-11-16T09:00:00.000Z', /only a part of the events was deleted, as the service says/],
  ['partly_deleted', undefined, /only a part of the events was deleted, as the service says/],
  ['not_queued', undefined, /no deletion of the events shown by the service/],
] as const)('the verifier alone derives a certificate of events that are %s, until %s', (result, until, summary) => {
  const life = lifeOf(1, 1).flat();
  const at = life.findIndex(({ type }) => type === 'certified');
  const assurance = result === 'not_queued' ? 'not_verifiable' : 'asserted_by_upstream';
  const end = { result, assurance, ...(until === undefined ? {} : { until }) } as const;
  const record: LedgerRecord = { type: 'result', requests: [requestId(1)], target: 'upstream.events', ...end };
  const { folder, file } = certified({ records: life.toSpliced(at, 0, record) });
  const certificate = JSON.parse(readFileSync(file, 'utf8')) as { targets: Json[] };
  expect(certificate).toMatchObject({ weakest_assurance: 'not_reached' });
  expect(certificateWords(certificate).summary).toMatch(summary);
  const told = certificate.targets.find(({ target }) => target === 'upstream.events');
  expect(told).toMatchObject({ result, assurance: 'not_reached' });
  expect(told?.['until']).toBe(result === 'partly_deleted' ? (until ?? null) : undefined);
  expect(verifyAlone(folder, '--certificate', file)).toMatchObject({ code: 3 });
});

test('the verifier alone tells which consumers have acknowledged since a certificate, by the ledger', () => {
  const acknowledged = (consumer: string, seen?: Seen): LedgerRecord => ({
    type: 'acknowledged',
    request: requestId(1),
    generation: 1,
    consumer,
    ...(seen && { seen }),
  });
  const [report, signer] = ['a'.repeat(64), 'b'.repeat(64)];
  const expected = [
    { consumer: 'billing', tables: ['bills'] },
    { consumer: 'warehouse', tables: ['mart.events', 'mirror.persons', 'orders', 'old'] },
  ];
  const life = lifeOf(1, 1)
    .flat()
    .map(naming(['billing', 'crm-team', 'warehouse']))
    .map((one): LedgerRecord => (one.type === 'locally_verified' ? Object.assign(one, { expected }) : one));
  const at = life.findIndex(({ type }) => type === 'certified');
  const attested = { assurance: 'attested' as const, report, signer };
  const records = [
    ...life.toSpliced(
      at,
      0,
      acknowledged('warehouse', { ...attested, tables: ['old'], not_covered: [] }),
      acknowledged('warehouse', { assurance: 'observed', tables: ['mirror.persons'], not_covered: ['mirror.other'] }),
      // The last report counts; the first, of `old`, stays on the ledger.
      acknowledged('warehouse', { ...attested, tables: ['mart.events'], not_covered: ['orders'] }),
    ),
    acknowledged('crm-team'),
    acknowledged('billing', { ...attested, tables: ['bills'], not_covered: [] }),
  ];
  const { folder, file } = certified({ records });
  const time = expect.stringMatching(/^2.*Z$/) as string;
  const certificate = JSON.parse(readFileSync(file, 'utf8')) as { consumers: unknown };
  expect(certificate.consumers).toEqual([
    { consumer: 'billing', acknowledged_at: null, not_covered: ['bills'] },
    { consumer: 'crm-team', acknowledged_at: null },
    {
      consumer: 'warehouse',
      acknowledged_at: time,
      seen: [
        { ...attested, at: time, tables: ['mart.events'] },
        { assurance: 'observed', at: time, tables: ['mirror.persons'] },
      ],
      not_covered: ['mirror.other', 'old', 'orders'],
    },
  ]);
  const statements = certificateWords(certificate).statements.join('\n');
  expect(statements).toMatch(/^Attested: warehouse mart\.events \(2\d{3}-\d\d-\d\d\)\. /m);
  expect(statements).toMatch(/^Observed: warehouse mirror\.persons \(2\d{3}-\d\d-\d\d\)\. /m);
  const bare = 'billing bills, warehouse mirror.other, warehouse old, warehouse orders';
  expect(statements).toContain(`NOT COVERED: ${bare}. `);
  const { code, output } = verifyAlone(folder, '--certificate', file);
  expect({ code, lines: output.split('\n').filter((line) => line.startsWith('certificate')) }).toEqual({
    code: 3,
    lines: [
      expect.stringMatching(/: billing: acknowledged 2.*Z, attested 2.*Z: bills, by this ledger$/),
      expect.stringMatching(/: crm-team: acknowledged 2.*Z, by this ledger$/),
      expect.stringMatching(
        /: warehouse: acknowledged 2.*Z, attested 2.*Z: mart.events, observed 2.*Z: mirror.persons, by this ledger$/,
      ),
      `certificate ${file}: later entries about this request: none`,
    ],
  });
});

test.each([
  ...Object.entries(laterRecords),
  ['mended', [...(laterRecords['differs'] ?? []), { type: 'mended', part: 'snapshots', items: 1 }]],
] as [string, LedgerRecord[]][])(
  'program and verifier alone find the same later words about a certificate: %s',
  (name, later) => {
    const { folder, file } = certified({ records: [...lifeOf(1, 1).flat(), ...later] });
    const { code, output } = verifyAlone(folder, '--certificate', file);
    const entries = readLedger(join(folder, '..')).entries();
    const words = laterWords({ entries: () => entries }, requestId(1), sha256(readFileSync(file)));
    const said = words.map(({ entry, at, says }) => `entry ${entry}, ${at}: ${says}`).join('; ');
    const isMended = name === 'mended';
    expect(code).toBe(isMended ? 3 : 1);
    expect(words).toHaveLength(isMended ? 0 : later.length);
    expect(output).toContain(`certificate ${file}: later entries about this request: ${isMended ? 'none' : said}\n`);
    expect(output.includes(`problem: certificate ${file}: superseded\n`)).toBe(!isMended);
  },
);
