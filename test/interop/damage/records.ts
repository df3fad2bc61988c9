import {
  attentionReasons,
  bases,
  boundKeys,
  boundParts,
  deciders,
  exceptions,
  heldReasons,
  identityChecks,
  origins,
} from '../../../src/ledger/vocabulary.ts';
import { assurances, publicationCauses, refusalReasons, targetResults } from '../../../src/ledger/vocabulary.ts';
import { requestId } from '../../ledger/ledger-fixture.ts';
import type { Json } from './case.ts';
import type { Random } from './random.ts';

const files = [
  'snapshot:persons/20261120T125500.123Z/part-00001.parquet',
  'snapshot:deletions/20261120T125500.123Z/part-100000.parquet',
];
const targets = [
  'upstream.person',
  'upstream.events',
  'upstream.recordings',
  'upstream.playlists',
  'mirror',
  'aux',
  'bucket',
  'copies',
  ...files,
];
const consumers = ['billing', 'crm-team', 'warehouse', 'w_1'];
const datasets = ['persons', 'deletions'];
const hex = (random: Random, digits: number): string => random.pick(['a', 'b', 'c', '0']).repeat(digits);

/** What a field may hold, and sometimes what it may not quite. */
const values: Record<string, (random: Random) => unknown> = {
  request: (random) => requestId(1 + random.below(3)),
  requests: (random) => [1, 2, 3].filter((n) => n === 1 || random.chance(0.3)).map(requestId),
  generation: (random) => 1 + random.below(3),
  origin: (random) => random.pick(origins),
  basis: (random) => random.pick(bases),
  decided_by: (random) => random.pick(deciders),
  identity: (random) => random.pick(identityChecks),
  exception: (random) => random.pick(exceptions),
  subject: (random) => hex(random, 64),
  authorisation: (random) => hex(random, 64),
  delete_events: (random) => random.chance(0.5),
  due_at: (random) => random.pick(['2026-11-20T12:00:09.000Z', '2026-12-20T12:00:00.000Z', '0000-02-29T23:59:59.999Z']),
  events_expected_by: (random) => random.pick(['2026-11-20T12:00:20.000Z', '2026-11-23T05:00:00.000Z']),
  until: () => '2033-01-01T00:00:00.000Z',
  served_at: () => '2026-11-20T12:00:01.000Z',
  epoch: (random) => random.below(4),
  fence: (random) =>
    Array.from({ length: 1 + random.below(3) }, () => ({
      kind: random.pick(['person_uuid', 'person_id', 'distinct_id', 'recording_id']),
      encrypted: hex(random, 64),
    })),
  continued: () => true,
  unnamed: () => true,
  target: (random) => random.pick(targets),
  result: (random) => random.pick(targetResults),
  assurance: (random) => random.pick(assurances),
  machines: (random) => random.pick([['one'], ['one', 'two.example-1']]),
  machine: () => 'one',
  token: (random) => random.below(9),
  copy: (random) => hex(random, 32),
  phase: (random) => random.pick(['control', 'verify']),
  hits: (random) => random.below(2),
  files: (random) => random.below(3),
  needles: (random) => random.below(3),
  consumer: (random) => random.pick(consumers),
  consumers: (random) => consumers.filter((_name, at) => at === 1 || random.chance(0.5)).toSorted(),
  seen: (random) => ({
    ...random.pick([
      { assurance: 'attested', report: hex(random, 64), signer: hex(random, 64) },
      { assurance: 'observed' },
    ]),
    tables: random.pick([['mart.events'], ['mart.events', 'mirror.persons']]),
    not_covered: random.pick([[], ['orders'], ['orders', 'mirror.persons']]),
  }),
  expected: (random) => [{ consumer: random.pick(consumers), tables: ['mart.events', 'orders'] }],
  certificate: (random) => random.pick([null, hex(random, 64)]),
  note: (random) => hex(random, 64),
  snapshots: (random) => [snapshot(random), ...(random.chance(0.2) ? [snapshot(random)] : [])],
  cause: (random) => random.pick(publicationCauses),
  key: (random) => random.pick(boundKeys),
  check: (random) => hex(random, 32),
  part: (random) => random.pick(boundParts),
  outcome: (random) => random.pick(['passed', 'failed']),
  report: (random) => hex(random, 64),
  old_key: (random) => hex(random, 64),
  new_key: (random) => hex(random, 64),
  signature: (random) => hex(random, 128),
};
const count = (random: Random): number => random.below(12);

function snapshot(random: Random): Json {
  const manifest = random.chance(0.3) ? null : hex(random, 64);
  return { dataset: random.pick(datasets), snapshot_id: '20261120T125500.123Z', manifest };
}

/** The fields of each type, as RECORDS.md has them; `?`: may be missing. */
const about = 'request generation ';
export const shapes: Record<string, string> = {
  received: `${about}origin basis subject authorisation delete_events due_at decided_by? identity? exception?`,
  asked: `${about}subject authorisation due_at identity?`,
  answered: about,
  scoped: `${about}persons distinct_ids recordings quarantined files`,
  held: `${about}reason`,
  approved: about,
  amended: `${about}basis authorisation? decided_by? identity? exception?`,
  refused: `${about}reason`,
  cancelled: about,
  fencing: `${about}epoch fence continued? served_at?`,
  fenced: `${about}epoch`,
  intent: 'requests target',
  result: 'requests target result assurance rows_before? rows_removed? until? machines?',
  scan: 'requests phase files bytes needles hits passed_over? left_out?',
  locally_verified: `${about}consumers? expected?`,
  awaiting_upstream: `${about}events_expected_by`,
  attention: `${about}target reason`,
  reopened: `${about}reason unnamed?`,
  certified: `${about}certificate`,
  sealed: about,
  readmitted: `${about}reason entries`,
  acknowledged: `${about}consumer note? seen?`,
  replayed: 'epoch_from epoch_to rows',
  drill: 'outcome steps report',
  publishing: 'snapshots',
  published: 'cause snapshots',
  key_bound: 'key check',
  differs: 'part items',
  mended: 'part items',
  taken_over: 'machine token copy',
  copy_made: 'machine copy',
  copy_gone: 'copy',
  copy_forgotten: 'copy',
};
const reasons: Record<string, (random: Random) => unknown> = {
  held: (random) => random.pick(heldReasons),
  refused: (random) => random.pick(refusalReasons),
  attention: (random) => random.pick(['life_exceeded', ...attentionReasons]),
  reopened: (random) => random.pick(attentionReasons),
  readmitted: (random) => hex(random, 64),
};

/** A value for a field of a type of record. */
export function valueFor(type: string, name: string, random: Random): unknown {
  const make = name === 'reason' ? reasons[type] : values[name];
  return (make ?? count)(random);
}

/** A record of any type with good fields, `known` ones where given. It need not be possible where it stands. */
export function randomRecord(random: Random, known: (type: string) => Json): Json {
  const type = random.pick(Object.keys(shapes));
  const fields = (shapes[type] ?? '').trim().split(/ +/);
  const given = fields.flatMap((field) => {
    const name = field.replace('?', '');
    const isIn = !field.endsWith('?') || random.chance(0.25);
    return isIn ? [[name, valueFor(type, name, random)]] : [];
  });
  return { type, ...Object.fromEntries(given), ...known(type) } as Json;
}
