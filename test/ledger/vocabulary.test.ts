import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { elsewhereTargets, fixedTargets } from '../../src/ledger/target.ts';
import {
  assurances,
  attentionReasons,
  bases,
  boundKeys,
  boundParts,
  heldReasons,
  identityChecks,
  origins,
  publicationCauses,
  refusalReasons,
  targetResults,
} from '../../src/ledger/vocabulary.ts';
import { nextText } from '../../src/ledger/vocabulary-words.ts';
import { join } from 'node:path';
import { verify } from '../../docs/verifier/verify.mjs';
import { expect, test } from 'vitest';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { identifierKinds } from '../../src/contract/identity.ts';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { readEntry } from '../../src/ledger/entry.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { LedgerRecord } from '../../src/ledger/record.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, requestId, tickingClock } from './ledger-fixture.ts';

const request = requestId(1);
const about = { request, generation: 1 };
const requests = [request];
const hash = 'a'.repeat(64);
const files = publishedDatasets.map(
  (dataset) => `snapshot:${dataset}/20261120T125500.123Z/part-00001.parquet` as const,
);

/** Each target with each result and each assurance. */
const ends = [...fixedTargets, ...elsewhereTargets, ...files].flatMap((target) =>
  targetResults.flatMap((result) =>
    assurances.map((assurance): LedgerRecord => ({ type: 'result', requests, target, result, assurance })),
  ),
);
const isPossible = (record: LedgerRecord): boolean => LedgerRecord.safeParse(record).success;

/** A record with each word that a record may have, and at least one of each type; their order makes no sense. */
const records: LedgerRecord[] = [
  ...lifeOf(1, 1).flat(),
  ...origins.flatMap((origin) =>
    bases.map((basis): LedgerRecord => ({
      type: 'received',
      ...about,
      origin,
      basis,
      subject: hash,
      authorisation: hash,
      delete_events: false,
      due_at: '2026-12-20T12:00:00.000Z',
    })),
  ),
  ...[...fixedTargets, ...elsewhereTargets, ...files].map((target): LedgerRecord => ({
    type: 'intent',
    requests,
    target,
  })),
  ...ends.filter(isPossible),
  ...heldReasons.map((reason): LedgerRecord => ({ type: 'held', ...about, reason })),
  ...attentionReasons.flatMap((reason): LedgerRecord[] => [
    { type: 'attention', ...about, target: 'mirror', reason },
    { type: 'reopened', ...about, reason },
  ]),
  { type: 'fencing', ...about, epoch: 1, fence: identifierKinds.map((kind) => ({ kind, encrypted: hash })) },
  {
    type: 'fencing',
    ...about,
    epoch: 1,
    fence: [{ kind: 'person_id', encrypted: hash }],
    continued: true,
    served_at: '2026-11-20T12:00:00.000Z',
  },
  { type: 'approved', ...about },
  ...bases.map((basis): LedgerRecord => ({ type: 'amended', ...about, basis })),
  { type: 'amended', ...about, basis: 'other', authorisation: hash },
  ...refusalReasons.map((reason): LedgerRecord => ({ type: 'refused', ...about, reason })),
  { type: 'cancelled', ...about },
  { type: 'asked', ...about, subject: hash, authorisation: hash, due_at: '2026-12-20T12:00:00.000Z' },
  ...identityChecks.map((identity): LedgerRecord => ({
    type: 'asked',
    request,
    generation: 1,
    subject: hash,
    authorisation: hash,
    due_at: '2026-12-20T12:00:00.000Z',
    identity,
  })),
  { type: 'answered', ...about },
  { type: 'certified', ...about, certificate: null },
  { type: 'readmitted', ...about, reason: hash, entries: 1 },
  { type: 'locally_verified', ...about, consumers: ['crm-team', 'crm_team', 'warehouse'] },
  { type: 'acknowledged', ...about, consumer: 'warehouse' },
  {
    type: 'acknowledged',
    ...about,
    consumer: 'warehouse',
    seen: { assurance: 'attested', report: hash, signer: hash, tables: ['mart.events'], not_covered: ['orders'] },
  },
  {
    type: 'acknowledged',
    ...about,
    consumer: 'warehouse',
    seen: { assurance: 'observed', tables: ['mirror.persons', 'a.b.c'], not_covered: [] },
  },
  {
    type: 'locally_verified',
    ...about,
    consumers: ['warehouse'],
    expected: [{ consumer: 'warehouse', tables: ['orders'] }],
  },
  { type: 'acknowledged', ...about, consumer: `a${'_-09z'.repeat(7)}9999`, note: hash },
  { type: 'replayed', epoch_from: 0, epoch_to: 1, rows: 0 },
  { type: 'drill', outcome: 'passed', steps: 10, report: hash },
  { type: 'drill', outcome: 'failed', steps: 10, report: hash },
  ...publishedDatasets.map((dataset): LedgerRecord => ({
    type: 'publishing',
    snapshots: [{ dataset, snapshot_id: '20261120T125500.123Z', manifest: hash }],
  })),
  ...publicationCauses.map((cause): LedgerRecord => ({
    type: 'published',
    cause,
    snapshots: [{ dataset: 'persons', snapshot_id: '20261120T125500.123Z', manifest: null }],
  })),
  { type: 'published', cause: 'adoption', snapshots: [] },
  ...boundKeys.map((key): LedgerRecord => ({ type: 'key_bound', key, check: hash.slice(32) })),
  ...boundParts.flatMap((part): LedgerRecord[] => [
    { type: 'differs', part, items: 1 },
    { type: 'mended', part, items: 1 },
  ]),
  { type: 'taken_over', machine: `a${'.-9z'.repeat(15)}bc`, token: 1, copy: hash.slice(32) },
  { type: 'copy_made', machine: 'pod-7', copy: hash.slice(32) },
  { type: 'copy_forgotten', copy: hash.slice(32) },
  { type: 'copy_gone', copy: hash.slice(32) },
  { type: 'result', requests, target: 'copies', result: 'absent', assurance: 'observed', machines: ['0', 'pod-7'] },
  { type: 'key_rotated', old_key: hash, new_key: hash, signature: hash + hash },
];

test('the verifier knows each word of the records', () => {
  const dataDir = temporaryFolder();
  const folder = join(dataDir, 'ledger');
  mkdirSync(folder);
  openLedger(dataDir, tickingClock()).append(records);
  const { problems } = verify({ folder });
  expect(problems.filter(({ problem }) => problem.startsWith('not_'))).toEqual([]);
});

test('the verifier and the ledger refuse the same ends, which nobody can have seen', () => {
  const impossible = [
    ...ends.filter((end) => !isPossible(end)),
    { type: 'result', requests, target: 'mirror', result: 'purged', assurance: 'observed', machines: ['0'] },
    {
      type: 'result',
      requests,
      target: 'bucket',
      result: 'absent',
      assurance: 'observed',
      until: '2033-01-01T00:00:00.000Z',
    },
  ];
  const folder = temporaryFolder();
  const lines = impossible.map(
    (record, seq) => `${canonicalJson({ ...record, seq, at: '2026-11-20T12:00:00.000Z' })}\n`,
  );
  writeFileSync(join(folder, 'entries.jsonl'), lines.join(''));
  const { problems } = verify({ folder });
  expect(problems.filter(({ problem }) => problem === 'not_in_schema')).toHaveLength(impossible.length);
  expect(impossible.length).toBeGreaterThan(900);
});

test('the verifier and the ledger miss the same fields', () => {
  const folder = temporaryFolder();
  const stamp = { at: '2026-11-20T12:00:00.000Z', seq: 0 };
  const whole = new Map(records.map((record) => [record.type, record])).values().toArray();
  // `served_at` ends as `at` does.
  const served = { ...whole.find(({ type }) => type === 'fencing'), served_at: stamp.at };
  const lines = [...whole, served].flatMap((record) => {
    const fields = Object.entries({ ...record, ...stamp });
    return fields.map(([gone]) => canonicalJson(Object.fromEntries(fields.filter(([name]) => name !== gone))));
  });
  writeFileSync(join(folder, 'entries.jsonl'), lines.map((line) => `${line}\n`).join(''));
  const missed = verify({ folder }).problems.filter(({ problem }) => problem === 'not_in_schema');
  const expected = lines.flatMap((line, at) =>
    readEntry(Buffer.from(line)) === 'not_in_schema' ? [`entry ${at}`] : [],
  );
  expect(missed.map(({ where }) => where)).toEqual(expected);
  expect(expected.length).toBeGreaterThan(100);
});

test('and so does its description', () => {
  const read = (page: string): string => readFileSync(new URL(`../../docs/verifier/${page}`, import.meta.url), 'utf8');
  const format = read('FORMAT.md') + read('RECORDS.md') + read('VERDICTS.md');
  const types = LedgerRecord.options.map(({ shape }) => shape.type.value);
  expect(new Set(records.map(({ type }) => type))).toEqual(new Set(types));
  const words = [
    ...types,
    ...origins,
    ...bases,
    ...fixedTargets,
    ...elsewhereTargets,
    ...publishedDatasets,
    ...targetResults,
  ];
  for (const word of [
    ...words,
    ...assurances,
    ...heldReasons,
    ...refusalReasons,
    ...attentionReasons,
    ...identifierKinds,
    ...boundKeys,
    ...boundParts,
    ...publicationCauses,
  ])
    expect(format).toContain(`\`${word}\``);
});

test('an open request says what it does next by itself, and when', () => {
  expect(nextText(null)).toBe('the next reconciliation goes on with it');
  expect(nextText('2026-11-30T05:00:00.000Z')).toBe(
    'nothing; it waits for the service, which is asked again from 2026-11-30 05:00 UTC',
  );
});
