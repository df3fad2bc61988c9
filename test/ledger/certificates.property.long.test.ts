import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { verify } from '../../docs/verifier/verify.mjs';
import { expect, it } from 'vitest';
import { sha256 } from '../../src/core/digest.ts';
import { certificateText, type Certificate } from '../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../src/erasure/proof/derive-certificate.ts';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { ledgerOrigin } from '../../src/ledger/checkpoint.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { LedgerRecord } from '../../src/ledger/record.ts';
import { fixedTargets } from '../../src/ledger/target.ts';
import { assurances, bases, origins, targetResults } from '../../src/ledger/vocabulary.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, plantKeys, requestId, stated, tickingClock } from './ledger-fixture.ts';

const request = requestId(1);
const about = { request, generation: 1 };
const files = [1, 2].map((part) => `snapshot:persons/20261120T125500.123Z/part-0000${part}.parquet` as const);
const rows = fc.option(fc.nat({ max: 9 }), { nil: undefined });

type Result = Extract<LedgerRecord, { type: 'result' }>;

function resultOf({ of, counts }: { of: Omit<Result, 'type'>; counts: object }): LedgerRecord {
  const given = Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined));
  return { type: 'result', ...of, ...given };
}

function amendedTo(basis: (typeof bases)[number]): LedgerRecord {
  return { type: 'amended', ...about, basis };
}

function amendedBy(basis: (typeof bases)[number]): LedgerRecord {
  return { type: 'amended', ...about, basis, authorisation: 'e'.repeat(64), decided_by: 'legal_team' };
}

function acknowledgedBy(consumer: string): LedgerRecord {
  return { type: 'acknowledged', ...about, consumer };
}

/** What a consumer has signed of its tables. */
function attestedBy(consumer: string): LedgerRecord {
  const hex = 'b'.repeat(64);
  const seen = { assurance: 'attested' as const, report: hex, signer: hex, tables: ['mart.events'], not_covered: [] };
  return { type: 'acknowledged', ...about, consumer, seen };
}

/** What the program has seen of a consumer's tables. */
function observedOf(consumer: string): LedgerRecord {
  const seen = { assurance: 'observed' as const, tables: ['mirror.persons'], not_covered: ['mart.events', 'orders'] };
  return { type: 'acknowledged', ...about, consumer, seen };
}

function awaiting(expected: string): LedgerRecord {
  return { type: 'awaiting_upstream', ...about, events_expected_by: expected };
}

/** Records that change what a certificate says, in whatever order they come: only certificates are judged here. */
const facts: fc.Arbitrary<LedgerRecord> = fc.oneof(
  fc
    .record({
      of: fc.record({
        requests: fc.constantFrom<string[]>([request], [request, requestId(2)]),
        target: fc.constantFrom(...fixedTargets, ...files, 'bucket' as const),
        result: fc.constantFrom(...targetResults),
        assurance: fc.constantFrom(...assurances),
      }),
      counts: fc.record({
        rows_before: rows,
        rows_removed: rows,
        until: fc.constantFrom('2033-01-01T00:00:00.000Z', undefined),
      }),
    })
    .map(resultOf)
    .filter((record) => LedgerRecord.safeParse(record).success),
  fc.constantFrom(...bases).map(amendedTo),
  fc.constantFrom(...bases).map(amendedBy),
  fc.constantFrom('2026-11-20T12:00:09.000Z', '2027-01-01T00:00:00.000Z').map(awaiting),
  fc.nat({ max: 3 }).map((hits): LedgerRecord => {
    const phase = hits % 2 === 0 ? 'control' : 'verify';
    return {
      type: 'scan',
      requests: [request],
      phase,
      files: 3,
      bytes: 9,
      needles: 2,
      hits,
      left_out: hits,
      passed_over: hits,
    };
  }),
  fc.constant<LedgerRecord>({ type: 'reopened', request, generation: 2, reason: 'restored' }),
  fc.constant<LedgerRecord>({ type: 'locally_verified', ...about }),
  fc.constant<LedgerRecord>({ type: 'locally_verified', ...about, consumers: ['crm-team', 'warehouse'] }),
  fc.constantFrom('billing', 'crm-team', 'warehouse').map(acknowledgedBy),
  fc.constantFrom('billing', 'warehouse').map(attestedBy),
  fc.constantFrom('billing', 'warehouse').map(observedOf),
  fc.constant<LedgerRecord>({
    type: 'locally_verified',
    ...about,
    consumers: ['warehouse'],
    expected: [{ consumer: 'warehouse', tables: ['orders', 'mart.events'] }],
  }),
  fc.constant<LedgerRecord>({ type: 'attention', ...about, target: 'mirror', reason: 'restored' }),
);

const lives = fc.record({
  facts: fc.array(facts, { maxLength: 9 }),
  at: fc.integer({ min: 5, max: 14 }),
  origin: fc.constantFrom(...origins),
  dueAt: fc.constantFrom('2026-11-20T12:00:07.000Z', '2026-12-20T12:00:00.000Z'),
  isStated: fc.boolean(),
  boast: fc.nat({ max: 60 }),
});

/** The same with one field changed; which field, `pick` says. */
function boasting(certificate: Certificate, pick: number): string {
  const own = JSON.parse(certificateText(certificate)) as Record<string, unknown>;
  const names = Object.keys(own).filter((name) => !['request', 'generation', 'format_version'].includes(name));
  const name = names[pick % names.length] ?? '';
  const value = own[name];
  if (typeof value === 'string') own[name] = `${value}.`;
  else if (typeof value === 'number') own[name] = value + 1;
  else if (typeof value === 'boolean') own[name] = !value;
  else if (Array.isArray(value)) own[name] = value.length === 0 ? [{}] : value.slice(1);
  else own[name] = { more: 1, ...(value as object) };
  return canonicalJson(own);
}

it('the verifier alone derives the certificates that the program derives, and refuses those with one field changed', () => {
  const root = temporaryFolder();
  let run = 0;
  let derived = 0;
  fc.assert(
    fc.property(lives, ({ facts: more, at, origin, dueAt, isStated, boast }) => {
      run += 1;
      const dataDir = join(root, String(run));
      mkdirSync(dataDir);
      plantKeys(dataDir);
      const ledger = openLedger(dataDir, tickingClock());
      const life = lifeOf(1, 1)
        .slice(0, 15)
        .flat()
        .flatMap((record): LedgerRecord[] => [
          record.type === 'received' ? { ...record, origin, due_at: dueAt } : record,
        ]);
      ledger.append(life.slice(0, at));
      for (const record of more) ledger.append([record]);
      for (const record of life.slice(at)) ledger.append([record]);
      const history = ledger.histories.of(request);
      const issued = {
        ledgerOrigin: ledgerOrigin(dataDir, ledger),
        stated: isStated ? stated : { ...stated, controller: null, service: null },
      };
      const certificate = history && deriveCertificate(history, issued);
      if (!history || !certificate) return;
      derived += 1;
      const [good, bad] = [certificateText(certificate), boasting(certificate, boast)];
      const { generation } = history;
      for (const text of [good, bad])
        ledger.append([{ type: 'certified', request, generation, certificate: sha256(text) }]);
      ledger.checkpoint();
      const certificates = { good: Buffer.from(good), bad: Buffer.from(bad) };
      const { problems } = verify({ folder: join(dataDir, 'ledger'), certificates, now: Date.UTC(2026, 10, 20, 13) });
      const found = problems.filter(({ where }) => where.startsWith('certificate'));
      expect({ found, good }).toEqual({ found: [{ where: 'certificate bad', problem: 'says_otherwise' }], good });
      rmSync(dataDir, { recursive: true });
    }),
    { numRuns: 150 },
  );
  expect(derived).toBeGreaterThan(100);
});
