import { collectBoundState } from '../../src/ledger/bound-state.ts';
import { sha256 } from '../../src/core/digest.ts';
import { macCipher } from '../../src/core/secret-key.ts';
import { requestId } from '../ledger/ledger-fixture.ts';
import { describe, expect, it } from 'vitest';
import type { Identifier } from '../../src/contract/identity.ts';
import type { ColumnValue } from '../../src/contract/tolerant-reader.ts';
import type { MirroredDataset } from '../../src/contract/datasets.ts';
import { preparePageCommit } from './commit-page.ts';
import type { Database } from '../../src/mirror/database.ts';
import {
  countFence,
  fencedBy,
  fenceDigests,
  fenceIdentifiers,
  findFencedIdentifiers,
  liftFence,
  readFenceUse,
  setEpoch,
  standingFence,
  type FenceEntry,
} from '../../src/mirror/fence.ts';
import { addFenceMac } from '../../src/mirror/fence-mac.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { prepareRemoveRow } from '../../src/mirror/remove-rows.ts';
import { replacePlaylistRecordings } from '../../src/mirror/write-rows.ts';
import type { QuarantinedRow } from '../../src/mirror/quarantine.ts';
import type { PageOutcome, ShownRows } from '../../src/mirror/write-rows.ts';
import { openTestMirror } from './open-test-mirror.ts';
import { turnsWhile } from '../core/turns.ts';

type Row = Record<string, ColumnValue>;

const annUuid = '0190aaaa-1111-7222-8333-00000000000a';
const fencedAt = '2026-06-01T00:00:00.000Z';
const before = '2026-01-01T00:00:00Z';
const after = '2026-07-01T00:00:00Z';
const ann: Identifier[] = [
  { kind: 'person_uuid', value: annUuid },
  { kind: 'person_id', value: '1' },
  { kind: 'distinct_id', value: 'ann@x.example' },
  { kind: 'distinct_id', value: 'device' },
  { kind: 'recording_id', value: 'rec-1' },
];

/** A mirror that knows nobody, and keeps Ann out. `known`: the persons that a complete pass had seen before. */
function fencedMirror(identifiers: readonly Identifier[] = ann, known: readonly Row[] = []): Database {
  const { db } = openTestMirror();
  if (known.length > 0) {
    commit(db, 'persons', known);
    finishPass(db, 1, null, before);
  }
  // The clock of this machine is years ahead of the service's: it decides nothing.
  const at = '2031-06-01T00:00:00.000Z';
  fenceIdentifiers(db, { id: 'request', epoch: 1, at, servedAt: fencedAt }, identifiers);
  return db;
}

function entriesOf(db: Database, requestId: string): FenceEntry[] {
  return [...standingFence(db, requestId)].flat();
}

function commit(
  db: Database,
  dataset: MirroredDataset,
  rows: ShownRows['rows'],
  quarantined: readonly QuarantinedRow[] = [],
): PageOutcome {
  const at = '2026-08-01T00:00:00.000Z';
  const passId = startPass(db, { dataset, mode: 'full', plan: '{}', at });
  const page = preparePageCommit(db, dataset, passId);
  return page({ rows, quarantined, at });
}

function person(uuid: string, fields: Row = {}): Row {
  return {
    uuid,
    id: null,
    name: uuid,
    distinct_ids: '[]',
    properties: '{}',
    created_at: before,
    extra: null,
    ...fields,
  };
}

function recording(id: string, fields: Row = {}): Row {
  return {
    id,
    start_time: before,
    distinct_id: 'bob',
    person_uuid: 'bob',
    person: '{"distinct_ids":"bob"}',
    ...fields,
  };
}

const stored = (db: Database, table: string): unknown[] => db.prepare(`SELECT * FROM ${table}`).all();
const list = (db: Database, sql: string): unknown[] => db.prepare(sql).pluck().all();

describe('an erased person', () => {
  it.each<[string, Row]>([
    ['by uuid', person(annUuid)],
    ['by integer id and a distinct id', person('u2', { id: 1, distinct_ids: '["device"]' })],
    [
      'by integer id beyond a double and a distinct id',
      person('u2', { id: 2n ** 60n + 1n, distinct_ids: '["device"]' }),
    ],
    ['by uuid, created anew', person(annUuid, { created_at: after })],
  ])('is never stored again: %s', (_how, row) => {
    const db = fencedMirror([...ann, { kind: 'person_id', value: String(2n ** 60n + 1n) }]);
    expect(commit(db, 'persons', [row, person('bob')])).toMatchObject({ received: 2, added: 1, fenced: 1 });
    expect(list(db, `SELECT uuid FROM persons`)).toEqual(['bob']);
    expect(list(db, `SELECT key FROM changes`)).toEqual(['bob']);
    expect(list(db, `SELECT sum(to_key - from_key + 1) FROM persons_seen`)).toEqual([1]);
    expect(list(db, `SELECT rows_fenced FROM passes`)).toEqual([1]);
  });

  it('is counted, and so is whoever comes back after the erasure', () => {
    const db = fencedMirror();
    commit(db, 'persons', [person(annUuid)]);
    expect(readFenceUse(db, 'request')).toEqual({
      entries: 5,
      hits: 1,
      recreated: 0,
      lastHitAt: '2026-08-01T00:00:00.000Z',
    });
    commit(db, 'persons', [person(annUuid, { created_at: after })]);
    expect(readFenceUse(db, 'request')).toMatchObject({ hits: 2, recreated: 1 });
    // A whole list without the person tells that nobody is there any more.
    const at = '2026-08-02T00:00:00.000Z';
    finishPass(db, startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at }), null, at);
    expect(readFenceUse(db, 'request')).toMatchObject({ hits: 2, recreated: 0 });
  });

  it.each<[string, string, Row[]]>([
    ['created later, where no pass was complete before', after, []],
    ['unknown to the complete pass before, whatever its time', '2020-01-01T00:00:00Z', [person('bob')]],
  ])('under another uuid with a fenced distinct id, %s, is kept out and counted', (_which, created_at, known) => {
    const db = fencedMirror(ann, known);
    const again = person('new', { distinct_ids: '["fresh","ann@x.example"]', created_at });
    expect(commit(db, 'persons', [again])).toMatchObject({ fenced: 1, cameAfter: 1, trimmed: 0, added: 0 });
    expect(stored(db, 'distinct_id_owners')).toEqual([]);
    expect(list(db, `SELECT rows_came_after FROM passes ORDER BY id DESC LIMIT 1`)).toEqual([1]);
    expect(readFenceUse(db, 'request')).toMatchObject({ hits: 1, recreated: 1 });
  });

  it('under another uuid, first seen by a pass that goes on after the fence rose, is kept out', () => {
    const db = fencedMirror([], [person('bob')]);
    const unfinished = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at: before });
    const page = preparePageCommit(db, 'persons', unfinished);
    const head = startPass(db, { dataset: 'persons', mode: 'head', plan: '{}', at: before });
    finishPass(db, head, 'head', before);
    fenceIdentifiers(db, { id: 'request', epoch: 1, at: fencedAt, servedAt: fencedAt }, ann);
    setEpoch(db, 1);
    page({ rows: [person('new', { distinct_ids: '["fresh"]' })], quarantined: [], at: after });
    const again = person('new', { distinct_ids: '["fresh","device"]' });
    expect(page({ rows: [again], quarantined: [], at: after })).toMatchObject({ cameAfter: 1, changed: 0 });
  });
});

describe('a living person', () => {
  it('who has come by a fenced distinct id is let in without it', () => {
    const db = fencedMirror(ann, [person('bob', { distinct_ids: '["bob"]', created_at: after })]);
    // Services show a person without properties by a distinct id.
    const row = person('bob', { distinct_ids: '["bob","device"]', name: 'device', created_at: after });
    expect(commit(db, 'persons', [row])).toMatchObject({ fenced: 0, trimmed: 1, changed: 1 });
    expect(list(db, `SELECT distinct_ids FROM persons`)).toEqual(['["bob"]']);
    expect(list(db, `SELECT name FROM persons`)).toEqual([null]);
    expect(list(db, `SELECT distinct_id FROM distinct_id_owners`)).toEqual(['bob']);
    expect(readFenceUse(db, 'request')).toMatchObject({ hits: 0, recreated: 0 });
    // Shown so again, it is no change. Away and back again, it is known all the same.
    expect(commit(db, 'persons', [row])).toMatchObject({ fenced: 0, trimmed: 1, changed: 0, unchangedRun: 1 });
    db.transaction(() => prepareRemoveRow(db, 'persons')(1, 'merged', after))();
    expect(commit(db, 'persons', [row])).toMatchObject({ fenced: 0, trimmed: 1, added: 1 });
  });

  it.each<[string, Row]>([
    ['whose distinct id has a fenced one in it', person('jo', { distinct_ids: '["joann@x.example","device2"]' })],
    ['whose id has a fenced one in it', person('jo', { id: 11 })],
    ['whose distinct id is somebody’s integer id', person('jo', { distinct_ids: '["1"]' })],
    ['whose properties are what somebody was known by', person('jo', { properties: '{"a":"device"}' })],
    ['who was given the integer id of an erased person', person('jo', { id: 1, distinct_ids: '["jo"]' })],
  ])('%s is let in as it is', (_who, row) => {
    const db = fencedMirror();
    expect(commit(db, 'persons', [row])).toMatchObject({ fenced: 0, added: 1 });
    expect(db.prepare(`SELECT uuid, id, name, distinct_ids, properties, created_at, extra FROM persons`).get()).toEqual(
      row,
    );
    expect(readFenceUse(db, 'request').hits).toBe(0);
  });
});

describe('a recording', () => {
  it.each<[string, Row]>([
    ['that was fenced itself', recording('rec-1')],
    ['of an erased person', recording('new', { person_uuid: annUuid })],
    ['under a fenced distinct id, whoever it is shown with', recording('new', { distinct_id: 'device' })],
    [
      'that shows the integer id of an erased person, and no uuid',
      recording('new', { person_uuid: null, person: '{"id":1,"name":"Ann"}' }),
    ],
    [
      'under a new distinct id, of a person created after the erasure who holds a fenced one',
      recording('new', { person: `{"name":"Ann","distinct_ids":["bob","device"],"created_at":"${after}"}` }),
    ],
  ])('%s is kept out', (_which, row) => {
    const db = fencedMirror();
    expect(commit(db, 'recordings', [row, recording('other')])).toMatchObject({ fenced: 1, added: 1 });
    expect(list(db, `SELECT id FROM recordings`)).toEqual(['other']);
  });

  it('that starts after the erasure tells of somebody who is back', () => {
    const db = fencedMirror();
    commit(db, 'recordings', [recording('new', { person_uuid: annUuid, start_time: after })]);
    commit(db, 'recordings', [recording('rec-1', { start_time: after })]);
    expect(readFenceUse(db, 'request')).toMatchObject({ hits: 2, recreated: 1 });
  });

  it.each<[string, string, string]>([
    [
      'in a list',
      '{"id":9007199254740993,"distinct_ids":["bob","device"],"a":1.5}',
      '{"id":9007199254740993,"distinct_ids":["bob"],"a":1.5}',
    ],
    ['as a single text', '{"distinct_ids":"device"}', '{"distinct_ids":null}'],
    ['as a name', '{"id":1,"name":"device"}', '{"id":1,"name":null}'],
    [
      'and lived before the erasure',
      `{"distinct_ids":["bob","device"],"created_at":"${before}"}`,
      `{"distinct_ids":["bob"],"created_at":"${before}"}`,
    ],
  ])('of another, whose person names a fenced distinct id %s, is let in without it', (_how, shown, kept) => {
    const db = fencedMirror(ann, [person('bob')]);
    expect(commit(db, 'recordings', [recording('r', { person: shown })])).toMatchObject({ trimmed: 1, added: 1 });
    expect(list(db, `SELECT person FROM recordings`)).toEqual([kept]);
  });

  it('in a playlist is no member any more', () => {
    const db = fencedMirror();
    const members = ['rec-1', 'rec-11'].map((id) => ({ id, person_uuid: null, distinct_id: null }));
    replacePlaylistRecordings(db, 'list', members, fencedAt);
    expect(list(db, `SELECT recording_id FROM playlist_recordings`)).toEqual(['rec-11']);
    expect(replacePlaylistRecordings(db, 'list', members, fencedAt)).toBe(false);
  });

  it('in a playlist stays a member where it is known of another, who may have been merged into the person', () => {
    const db = fencedMirror();
    const member = { id: 'rec-11', person_uuid: 'bob', distinct_id: 'bob' };
    replacePlaylistRecordings(db, 'list', [member], fencedAt);
    const now = ann.flatMap(({ kind, value }) => (kind === 'person_uuid' ? { ...member, person_uuid: value } : []));
    replacePlaylistRecordings(db, 'list', now.slice(0, 1), fencedAt);
    expect(list(db, `SELECT person_uuid FROM playlist_recordings`)).toEqual(['bob']);
    replacePlaylistRecordings(db, 'list', [], fencedAt);
    expect(list(db, `SELECT person_uuid FROM playlist_recordings`)).toEqual([]);
  });

  it('in a playlist is no member any more where only the playlist shows whose it is', () => {
    const db = fencedMirror();
    const other = { id: 'other', person_uuid: 'other', distinct_id: 'other' };
    const members = ann.flatMap(({ kind, value }) =>
      kind === 'person_uuid' || kind === 'distinct_id' ? { ...other, id: `of ${value}`, [kind]: value } : [],
    );
    expect(members.length).toBeGreaterThan(1);
    const before = members.map(({ id }) => ({ id, person_uuid: null, distinct_id: null }));
    replacePlaylistRecordings(db, 'list', [...before, other], fencedAt);
    expect(replacePlaylistRecordings(db, 'list', [...members, other], fencedAt)).toBe(true);
    expect(list(db, `SELECT recording_id FROM playlist_recordings`)).toEqual(['other']);
  });
});

describe('a row that cannot be read', () => {
  const unread = (payload: object, key: string | null = null): QuarantinedRow => ({
    key,
    reason: 'x',
    payload: JSON.stringify(payload),
  });

  it.each<[string, MirroredDataset, QuarantinedRow]>([
    ['its key', 'persons', unread({}, annUuid)],
    ['its uuid', 'persons', unread({ uuid: annUuid, created_at: 7 })],
    ['its uuid in capitals', 'persons', unread({ uuid: annUuid.toUpperCase(), created_at: 7 })],
    ['its integer id', 'persons', unread({ id: 1, uuid: 'damaged' })],
    ['a distinct id in its list', 'persons', unread({ distinct_ids: ['x', 'ann@x.example'] })],
    ['a person within', 'recordings', unread({ id: 7, person: { uuid: annUuid } })],
    ['the integer id of a person within', 'recordings', unread({ id: 7, person: { id: 1 } })],
    ['its recording id', 'recordings', unread({ id: 'rec-1', start_time: 7 }, 'rec-1')],
  ])('is kept out of quarantine by %s', (_what, dataset, row) => {
    const db = fencedMirror();
    const other = unread({ uuid: 'else', id: 11, distinct_ids: ['joann@x.example'], note: 'a device' });
    expect(commit(db, dataset, [], [row, other])).toMatchObject({ received: 2, fenced: 1, quarantined: 1 });
    expect(list(db, `SELECT payload FROM quarantine`)).toEqual([other.payload]);
    expect(readFenceUse(db, 'request').hits).toBe(1);
  });
});

/** How many MACs a page costs. */
function macsOf(db: Database, act: () => void): number {
  let macs = 0;
  addFenceMac(db, {
    tagOf: () => {
      macs += 1;
      return '';
    },
    macOf: () => '',
    tagIn: () => 'ff'.repeat(32),
  });
  act();
  return macs;
}

describe('a row that cannot be read and is large', () => {
  const words = Array.from({ length: 20_000 }, (_, index) => `word ${index}`);
  const row = (payload: object): QuarantinedRow => ({
    key: 'large',
    reason: 'x',
    payload: JSON.stringify({ ...payload, properties: words }),
  });

  it('costs the fence no more than who it is about, where it says so', () => {
    const db = fencedMirror();
    const told = row({ uuid: '00000000-0000-4000-8000-00000000000f', id: 9, distinct_ids: ['i'], name: 5 });
    const act = (): void => expect(commit(db, 'persons', [], [told])).toMatchObject({ quarantined: 1 });
    expect(macsOf(db, act)).toBeLessThan(10);
    expect(list(db, `SELECT payload FROM quarantine`)).toEqual([told.payload]);
  });

  it('is kept without what it holds, where it does not say who it is about', () => {
    const db = fencedMirror();
    expect(commit(db, 'persons', [], [row({ distinct_ids: [{}], note: 'ann@x.example' })])).toMatchObject({
      quarantined: 1,
    });
    expect(list(db, `SELECT payload FROM quarantine`)).toEqual(['"too large to be kept"']);
  });
});

it('a row in quarantine that a complete pass does not show any more is forgotten', () => {
  const { db } = openTestMirror();
  const pass = (quarantined: QuarantinedRow[]): void => {
    const id = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at: '2026-01-01T00:00:00Z' });
    preparePageCommit(db, 'persons', id)({ rows: [], quarantined, at: '2026-01-01T00:00:00Z' });
    finishPass(db, id, null, '2026-01-01T00:00:00Z');
  };
  const keys = (): unknown[] => db.prepare(`SELECT row_id FROM quarantine`).pluck().all();
  const [one, two] = ['one', 'two'].map((key) => ({ key, reason: 'x', payload: '{}' }));
  if (!one || !two) throw new Error('two rows');
  pass([one, two]);
  expect(keys()).toEqual(['one', 'two']);
  pass([two]);
  expect(keys()).toEqual(['two']);
});

describe('the fence', () => {
  it('costs nothing for rows that are as they were, and nothing while it is empty', () => {
    const rows = [person('bob', { id: 2, distinct_ids: '["bob"]' }), person('eve', { distinct_ids: '["eve"]' })];
    const db = fencedMirror();
    commit(db, 'persons', rows);
    commit(db, 'recordings', [recording('r')]);
    expect(macsOf(db, () => commit(db, 'persons', rows))).toBe(0);
    expect(macsOf(db, () => commit(db, 'recordings', [recording('r')]))).toBe(0);
    const changed = [{ ...rows[0], name: 'Bob' } as Row, rows[1] as Row];
    // Uuid, distinct id and name of the one that changed.
    expect(macsOf(db, () => commit(db, 'persons', changed))).toBe(3);
    liftFence(db, 'request');
    expect(macsOf(db, () => commit(db, 'persons', [person('new', { distinct_ids: '["n"]' })]))).toBe(0);
  });

  it('holds no identifier, only what the key of this folder makes of it', () => {
    const db = fencedMirror();
    expect(JSON.stringify(stored(db, 'fence'))).not.toMatch(/ann|device|rec-1/);
    const other = fencedMirror();
    expect(entriesOf(other, 'request')).not.toEqual(entriesOf(db, 'request'));
    expect(entriesOf(db, 'request').every(({ mac }) => /^[0-9a-f]{64}$/.test(mac))).toBe(true);
  });

  it('of a large person is read in parts, in the order of its digest, which the ledger has too', async () => {
    const db = fencedMirror();
    const many = Array.from({ length: 10_001 }, (_, n): Identifier => ({ kind: 'recording_id', value: `rec ${n}` }));
    db.transaction(() => fenceIdentifiers(db, { id: 'large', epoch: 2, at: after }, [...many, ...ann]))();
    const parts = [...standingFence(db, 'large')];
    expect(parts.map(({ length }) => length)).toEqual([5000, 5000, 6]);
    const lines = parts.flat().map(({ kind, mac }) => `${kind} ${mac}\n`);
    expect(lines).toEqual(lines.toSorted());
    expect((await fenceDigests(db)).get('large')).toBe(sha256(lines.join('')));
    const ledger = collectBoundState();
    const about = { request: requestId(1), generation: 1, epoch: 1 };
    const key = Buffer.alloc(32, 7);
    const [encrypt, decrypt] = [macCipher(key, 'encrypt'), macCipher(key, 'decrypt')];
    for (const [index, fence] of parts.entries())
      ledger.take({
        type: 'fencing',
        ...about,
        fence: fence.map(({ kind, mac }) => ({ kind, encrypted: encrypt(mac) })),
        ...(index > 0 && { continued: true }),
      });
    ledger.take({ type: 'fenced', ...about });
    expect(ledger.state.fences.get(requestId(1))).toBe(
      (await fenceDigests(db, macCipher(key, 'encrypt'))).get('large'),
    );
    for (const { mac } of parts.flat().slice(0, 99)) {
      expect(encrypt(mac)).not.toBe(mac);
      expect(decrypt(encrypt(mac))).toBe(mac);
    }
  });

  it('tells kinds apart, and whose entry it is', () => {
    const db = fencedMirror();
    expect(fencedBy(db, [{ kind: 'distinct_id', value: 'device' }])).toEqual(['request']);
    expect(fencedBy(db, [{ kind: 'recording_id', value: 'device' }])).toEqual([]);
    fenceIdentifiers(db, { id: 'later', epoch: 2, at: after }, [{ kind: 'distinct_id', value: 'device' }]);
    expect(entriesOf(db, 'request')).toHaveLength(5);
    const [device] = entriesOf(db, 'later');
    expect(entriesOf(db, 'request').filter(({ mac }) => mac === device?.mac)).toEqual(entriesOf(db, 'later'));
    expect(liftFence(db, 'request')).toBe(5);
    expect(commit(db, 'persons', [person(annUuid)])).toMatchObject({ added: 1 });
  });

  it('of somebody whom two requests have erased stands until both have let them in', () => {
    const db = fencedMirror();
    fenceIdentifiers(db, { id: 'later', epoch: 2, at: after }, ann);
    fenceIdentifiers(db, { id: 'later', epoch: 2, at: after }, ann);
    expect(entriesOf(db, 'later')).toEqual(entriesOf(db, 'request'));
    expect(fencedBy(db, ann.slice(0, 1))).toEqual(['later', 'request']);
    const comeBack = (): PageOutcome => commit(db, 'persons', [person(annUuid, { created_at: after })]);
    expect(comeBack()).toMatchObject({ fenced: 1 });
    // Either has kept the one row out, and the fence as a whole once.
    const once = { entries: 5, hits: 1, recreated: 1 };
    for (const id of ['request', 'later']) expect(readFenceUse(db, id)).toMatchObject(once);
    expect(countFence(db)).toEqual(once);
    expect(readFenceUse(db, 'request', 'later')).toMatchObject(once);
    expect(liftFence(db, 'later')).toBe(5);
    expect(comeBack()).toMatchObject({ fenced: 1 });
    expect(liftFence(db, 'request')).toBe(5);
    expect(comeBack()).toMatchObject({ fenced: 0, added: 1 });
  });

  it('is asked by a search of its index, however large it is', () => {
    const db = fencedMirror();
    const plan = db
      .prepare<[], { detail: string }>(
        `EXPLAIN QUERY PLAN SELECT min(fenced_at) FROM fence WHERE kind = 'x' AND mac = fence_mac('x', 'y')`,
      )
      .all();
    expect(plan.map(({ detail }) => detail)).toEqual(['SEARCH fence USING PRIMARY KEY (kind=? AND mac=?)']);
  });
});

describe('every identifier of the mirror is held against the fence', () => {
  it('wherever it stands, for each request that fenced it', async () => {
    const { db } = openTestMirror();
    commit(db, 'persons', [person(annUuid, { id: 2n ** 60n + 1n, distinct_ids: '["device"]' }), person('bob')]);
    const viewed = { distinct_ids: ['unknown', 'embedded', 7] };
    commit(db, 'recordings', [
      recording('rec-1', { distinct_id: 'other', person: JSON.stringify(viewed) }),
      recording('rec-3', { person: '{"distinct_ids":"alone"}' }),
    ]);
    replacePlaylistRecordings(db, '!', [{ id: 'rec-2', person_uuid: 'member', distinct_id: 'listed' }], fencedAt);
    const everywhere: Identifier[] = [
      { kind: 'person_uuid', value: annUuid },
      { kind: 'person_uuid', value: 'member' },
      { kind: 'person_id', value: String(2n ** 60n + 1n) },
      { kind: 'distinct_id', value: 'device' },
      { kind: 'distinct_id', value: 'embedded' },
      { kind: 'distinct_id', value: 'alone' },
      { kind: 'distinct_id', value: 'other' },
      { kind: 'distinct_id', value: 'listed' },
      { kind: 'recording_id', value: 'rec-1' },
      { kind: 'recording_id', value: 'rec-2' },
    ];
    fenceIdentifiers(db, { id: 'request', epoch: 1, at: fencedAt }, everywhere);
    fenceIdentifiers(db, { id: 'later', epoch: 2, at: fencedAt }, [{ kind: 'distinct_id', value: 'embedded' }]);
    const found = (await findFencedIdentifiers(db)).map(
      ({ kind, value, requestId }) => `${kind} ${value} ${requestId}`,
    );
    expect(found.toSorted()).toEqual(
      [...everywhere.map(({ kind, value }) => `${kind} ${value} request`), 'distinct_id embedded later'].toSorted(),
    );
  });

  it('while other work goes on, and no longer than a signal lets it', async () => {
    const db = fencedMirror();
    db.exec(`INSERT INTO distinct_id_owners WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      SELECT 1, 'device of one person ' || i FROM n`);
    const turns = await turnsWhile(async () => expect(await findFencedIdentifiers(db)).toEqual([]));
    expect(turns).toBeGreaterThan(10);
    await expect(findFencedIdentifiers(db, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });
});
