import { describe, expect, it } from 'vitest';
import type { Service } from '../../../src/client/service.ts';
import { AppError } from '../../../src/core/errors.ts';
import { nobody } from '../../../src/contract/identity.ts';
import type { GivenIdentifier } from '../../../src/erasure/request/box.ts';
import { startIdentities, type SoughtSubject, type Start } from '../../../src/erasure/find/start-identities.ts';
import type { Database } from '../../../src/mirror/database.ts';
import { emailKey } from '../../../src/contract/email.ts';
import { prepareQuarantine } from '../../../src/mirror/quarantine.ts';
import { findEmails } from '../../../src/mirror/sightings.ts';
import { openTestMirror } from '../../mirror/open-test-mirror.ts';
import { insert } from '../scan/canary.ts';

const ann = '0189f1c0-7e5e-7bd2-a3c1-52f0a4d1c001';
const bob = '0189f1c0-7e5e-7bd2-a3c1-52f0a4d1c002';
const cid = '0189f1c0-7e5e-7bd2-a3c1-52f0a4d1c003';
const device: GivenIdentifier = { kind: 'distinct_id', value: 'device' };
const email: GivenIdentifier = { kind: 'email', value: 'ann@x.example' };

type Row = { uuid: string; id: number | null; ids: string[]; address?: string };

/** A service that answers a path or a filter with rows or a status; whatever is not told, with nobody. */
function serviceOf(answers: Record<string, Row[] | number>): Service {
  const call: Service['call'] = (name, args = {}) => {
    const { params = {}, query = {} } = args as { params?: object; query?: object };
    const { offset: _offset, ...asked } = { ...params, ...query } as { offset?: unknown };
    const answer = answers[Object.values(asked).join()] ?? [];
    const rows = (Array.isArray(answer) ? answer : []).map(({ uuid, id, ids, address }) => ({
      uuid,
      id,
      distinct_ids: ids,
      properties: { email: address },
    }));
    const isMissing = name === 'persons.retrieve' && rows.length === 0;
    const status = Array.isArray(answer) ? (isMissing ? 404 : 200) : answer;
    // A 403 is a firewall's here.
    const isForeign = status === 403;
    const code = status < 500 && !isForeign ? 'rejected' : 'service';
    if (status !== 200) return Promise.reject(new AppError('no', { code, status, isForeign }));
    const offset = 'offset' in query ? Number(query.offset) : 0;
    const some = rows.slice(offset, offset + 2);
    const next = offset + some.length < rows.length ? 'https://next.example/' : null;
    const body = name === 'persons.list' ? { results: some, next } : rows[0];
    return Promise.resolve({ status: 200, body, date: undefined });
  };
  return { call, requestCount: () => 0 };
}

function mirrorOf(...rows: Row[]): Database {
  const { db } = openTestMirror();
  for (const { uuid, id, ids, address } of rows) {
    const key = insert(db, 'persons', {
      uuid,
      id,
      distinct_ids: JSON.stringify(ids),
      properties: JSON.stringify({ email: address }),
      first_seen_pass: 1,
      changed_at: '2026-11-20T10:00:00.000Z',
    });
    for (const distinctId of ids) insert(db, 'distinct_id_owners', { person_row_key: key, distinct_id: distinctId });
  }
  return db;
}

/** Who is meant by an identifier, by uuid, and what else is known of that. */
async function begin(
  db: Database,
  service: Service | null,
  given: GivenIdentifier,
  before: Partial<SoughtSubject> = {},
): Promise<
  { meant: readonly string[]; persons: number } & Pick<Start, 'isAsked' | 'waitsFor' | 'isDoubted' | 'shown'>
> {
  const subject = { id: 'x', given: [given], identity: nobody, shown: null, ...before };
  const signal = new AbortController().signal;
  const emails = new Set(given.kind === 'email' ? [emailKey(given.value)] : []);
  const shownEmails = [...findEmails(db, emails, { onlyUnnamed: false })].flat();
  const start = (await startIdentities({ db, settings: { dataDir: '' }, service, signal }, [subject], shownEmails)).get(
    'x',
  );
  if (!start) throw new Error('no start');
  const { identity, isAsked, waitsFor, isDoubted, persons, shown } = start;
  return { meant: identity.person_uuid.toSorted(), isAsked, waitsFor, isDoubted, persons: persons.length, shown };
}

describe('whom the mirror has under a distinct id that the service shows with another', () => {
  const mirror = (): Database => mirrorOf({ uuid: ann, id: 1, ids: ['ann', 'device'] });
  const shown = { device: [{ uuid: bob, id: 2, ids: ['device'] }] };

  it.each<[string, Parameters<typeof serviceOf>[0], object]>([
    ['is not meant where they live', { 1: [{ uuid: ann, id: 1, ids: ['ann'] }] }, { meant: [bob], isDoubted: false }],
    [
      'is not meant where they live under another integer id',
      { [ann]: [{ uuid: ann, id: 7, ids: ['ann'] }] },
      { meant: [bob], isDoubted: false },
    ],
    ['is meant where they are gone', {}, { meant: [ann, bob], isDoubted: false }],
    [
      'is meant where they are gone by id, and nobody may ask by uuid',
      { [ann]: 400 },
      { meant: [ann, bob], isDoubted: false },
    ],
    ['is in doubt where the service fails', { 1: 503 }, { meant: [bob], isDoubted: true }],
    ['is in doubt where nobody may ask', { 1: 400, [ann]: 400 }, { meant: [bob], isDoubted: true }],
  ])('%s', async (_what, answers, expected) => {
    const service = serviceOf({ ...shown, ...answers });
    expect(await begin(mirror(), service, device)).toMatchObject({ ...expected, isAsked: true, persons: 1 });
  });

  it('is no more meant when the request is looked at again', async () => {
    const db = mirror();
    const service = serviceOf({ ...shown, 1: [{ uuid: ann, id: 1, ids: ['ann'] }] });
    const first = await begin(db, service, device);
    expect(await begin(db, service, device, { shown: first.shown })).toMatchObject({ meant: [bob] });
    expect(await begin(db, null, device, { shown: first.shown })).toMatchObject({ meant: [bob], isDoubted: true });
  });
});

describe('whom the mirror has in quarantine under a distinct id', () => {
  const mirror = (): Database => {
    const db = mirrorOf();
    const payload = JSON.stringify({ uuid: ann, id: 1, name: 5, distinct_ids: ['ann', 'device'] });
    prepareQuarantine(db, 'persons').add({ key: ann, reason: 'name', payload }, 1, '2026-11-20T10:00:00Z');
    return db;
  };

  it.each<[string, Parameters<typeof serviceOf>[0], string[]]>([
    ['is meant where they are gone', {}, [ann]],
    [
      'is not meant where another has it and they live',
      { device: [{ uuid: bob, id: 2, ids: ['device'] }], 1: [{ uuid: ann, id: 1, ids: ['ann'] }] },
      [bob],
    ],
  ])('%s', async (_what, answers, meant) => {
    expect(await begin(mirror(), serviceOf(answers), device)).toMatchObject({ meant, persons: 1 });
  });
});

describe('an answer that holds others than were asked for', () => {
  it.each([device, email, { kind: 'uuid', value: ann } as const, { kind: 'id', value: '1' } as const])(
    'by $kind is no answer: nobody of it is meant, and the mirror alone tells who is',
    async (given) => {
      const others: Row[] = [
        { uuid: bob, id: 2, ids: ['bob', 'device-2'], address: 'joann@x.example' },
        { uuid: ann.replace('1', '2'), id: 11, ids: [], address: '' },
      ];
      const service = serviceOf({ [given.value]: others });
      const named = given.kind === 'uuid' ? [ann] : [];
      expect(await begin(mirrorOf(), service, given)).toMatchObject({ meant: named, isAsked: false });
      const db = mirrorOf({ uuid: ann, id: 1, ids: ['device'], address: 'Ann@x.example' });
      expect(await begin(db, service, given)).toMatchObject({ meant: [ann], isAsked: false, persons: 1 });
    },
  );
});

describe('how many persons live under an address', () => {
  const two: Row[] = [
    { uuid: ann, id: 1, ids: ['ann'], address: 'ann@x.example' },
    { uuid: bob, id: 2, ids: ['bob'], address: 'Ann@x.example ' },
  ];

  it('is told by the service', async () => {
    const service = serviceOf({ [email.value]: two });
    expect(await begin(mirrorOf(), service, email)).toMatchObject({ meant: [ann, bob], persons: 2 });
    expect(await begin(mirrorOf(), serviceOf({}), email)).toMatchObject({ meant: [], persons: 0 });
  });

  it('names who has another spelling of it that is seen here, or its lower case, at a service that compares letter by letter', async () => {
    const address = 'Ann@X.example';
    const service = serviceOf({
      [address]: [{ uuid: bob, id: 2, ids: ['bob'], address }],
      [email.value]: [{ uuid: cid, id: 3, ids: ['cid'], address: email.value }],
    });
    const mirror = mirrorOf({ uuid: ann, id: 1, ids: ['ann'], address });
    for (const value of [email.value, 'ANN@X.EXAMPLE'])
      expect(await begin(mirror, service, { kind: 'email', value })).toMatchObject({ meant: [ann, bob, cid] });
  });

  it('counts those of the mirror whom the service has under another spelling', async () => {
    const other = { ...two[1], uuid: bob, id: 2, ids: ['bob'], address: 'Ann@x.example' };
    const service = serviceOf({ [email.value]: two.slice(0, 1), 2: [other] });
    expect(await begin(mirrorOf(other), service, email)).toMatchObject({ meant: [ann, bob], persons: 2 });
  });

  it('counts whom it named before the service could be asked, whatever their address is now', async () => {
    const before = { identity: { ...nobody, person_uuid: [ann] } };
    const elsewhere = { uuid: ann, id: 1, ids: ['ann'], address: 'new@x.example' };
    const service = serviceOf({ 1: [elsewhere] });
    expect(await begin(mirrorOf(elsewhere), service, email, before)).toMatchObject({ meant: [ann], persons: 1 });
    const other = serviceOf({ 1: [elsewhere], [email.value]: two.slice(1) });
    expect(await begin(mirrorOf(elsewhere), other, email, before)).toMatchObject({ meant: [ann, bob], persons: 2 });
    const gone = await begin(mirrorOf(), serviceOf({ [email.value]: two.slice(1) }), email, before);
    expect(gone).toMatchObject({ meant: [ann, bob], persons: 1 });
    // Nothing that is held shows the person any more, and the service has it again.
    const back = serviceOf({ [ann]: [elsewhere], [email.value]: two.slice(1) });
    expect(await begin(mirrorOf(), back, email, before)).toMatchObject({ meant: [ann, bob], persons: 2 });
  });

  it('is not told by a service that rejects the question', async () => {
    const db = mirrorOf(...two.slice(0, 1));
    const all = { [email.value]: 400 };
    expect(await begin(db, serviceOf(all), email)).toMatchObject({ isAsked: false, waitsFor: 'service_rejects' });
    const padded = { ...two[0], uuid: ann, id: 1, ids: ['ann'], address: ' ann@x.example' };
    const some = serviceOf({ [padded.address]: 400, 1: [padded] });
    expect(await begin(mirrorOf(padded), some, email)).toMatchObject({ meant: [ann], isAsked: true, persons: 1 });
  });

  it('does not count those who are gone from the service', async () => {
    const service = serviceOf({ [email.value]: two.slice(0, 1) });
    const merged = { uuid: bob, id: 2, ids: [], address: 'ann@x.example' };
    expect(await begin(mirrorOf(merged), service, email)).toMatchObject({ meant: [ann, bob], persons: 1 });
  });

  it('is told by the mirror where the service is not asked, now and later', async () => {
    const ids = { id: 2, ids: ['bob'] };
    const db = mirrorOf(...two.slice(0, 1), { uuid: bob, ...ids, address: 'ANN@x.example' });
    expect(await begin(db, null, email)).toMatchObject({ meant: [ann, bob], persons: 2 });
    const identity = { ...nobody, person_uuid: [ann, bob] };
    expect(await begin(db, null, email, { identity, shown: [] })).toMatchObject({ persons: 2 });
  });
});

it('one question that a firewall lets not pass leaves its subject unasked, and no other', async () => {
  const service = serviceOf({ device: 403, phone: [{ uuid: bob, id: 2, ids: ['phone'] }] });
  // More than are asked for at once.
  const values = ['device', ...Array.from({ length: 8 }, (_, index) => `nobody-${index}`), 'phone'];
  const subjects = values.map((value): SoughtSubject => {
    return { id: value, given: [{ kind: 'distinct_id', value }], identity: nobody, shown: null };
  });
  const context = { db: mirrorOf(), settings: { dataDir: '' }, service, signal: new AbortController().signal };
  const starts = await startIdentities(context, subjects, []);
  expect(starts.get('device')).toMatchObject({ isAsked: false, waitsFor: 'service_unusable' });
  expect(starts.get('phone')).toMatchObject({ isAsked: true, persons: [bob] });
});

it.each([
  ['alone', false, 'service_rejects', true],
  ['like every list', true, 'service_refuses_key', false],
] as const)('a person whom the service refuses the key %s', async (_how, isEveryList, waitsFor, isAsked) => {
  const service = serviceOf({});
  const inner = { ...service };
  const refusal = new AppError('no', { code: 'refused', status: 403 });
  service.call = (name, args = {}) => {
    const { id } = (args as { params?: { id?: string } }).params ?? {};
    return id === ann || (isEveryList && name === 'persons.list') ? Promise.reject(refusal) : inner.call(name, args);
  };
  // More than are asked for at once.
  const values = [ann, ...Array.from({ length: 8 }, (_, index) => String(index))];
  const subjects = values.map((value): SoughtSubject => {
    return { id: value, given: [{ kind: 'uuid', value }], identity: nobody, shown: null };
  });
  const context = { db: mirrorOf(), settings: { dataDir: '' }, service, signal: new AbortController().signal };
  const starts = await startIdentities(context, subjects, []);
  expect(starts.get(ann)).toMatchObject({ isAsked: false, waitsFor });
  expect(starts.get('7')).toMatchObject({ isAsked });
});

// Ten were taken for a failure of the service, and nobody else was asked for.
it('persons whom the service refuses the key keep no others from being asked for, however many they are', async () => {
  const service = serviceOf({});
  const inner = { ...service };
  service.call = (name, args = {}) =>
    (args as { params?: { id?: string } }).params?.id?.startsWith('1')
      ? Promise.reject(new AppError('no', { code: 'refused', status: 403 }))
      : inner.call(name, args);
  const subjects = Array.from({ length: 25 }, (_, index): SoughtSubject => {
    return { id: `${index}`, given: [{ kind: 'id', value: `${index}` }], identity: nobody, shown: null };
  });
  const context = { db: mirrorOf(), settings: { dataDir: '' }, service, signal: new AbortController().signal };
  const starts = await startIdentities(context, subjects, []);
  expect(starts.get('19')).toMatchObject({ isAsked: false, waitsFor: 'service_rejects' });
  expect(starts.get('24')).toMatchObject({ isAsked: true });
});

const address = 'team@x.test';
/** Five persons with one address. */
const team = [1, 2, 3, 4, 5].map((id) => ({
  uuid: `00000000-0000-4000-8000-00000000000${id}`,
  id,
  ids: [`d${id}`],
  address,
}));

it('an address that more persons have than a page shows names all of them; a list that moves while it is paged is read again, and one that never stands still is no answer', async () => {
  for (const moves of [0, 1, 99]) {
    const left = [...team];
    let calls = 0;
    const service = serviceOf({ [address]: left });
    const moving: Service['call'] = async (...asked) => {
      const answer = await service.call(...asked);
      if ((calls += 1) <= moves) left.push(...left.splice(0, 1));
      return answer;
    };
    const found = await begin(mirrorOf(), { ...service, call: moving }, { kind: 'email', value: address });
    expect(found).toMatchObject(moves < 99 ? { persons: 5 } : { persons: 0, waitsFor: 'service_unusable' });
  }
});
