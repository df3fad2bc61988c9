import { describe, expect, it } from 'vitest';
import type { Service } from '../../src/client/service.ts';
import { AppError } from '../../src/core/errors.ts';
import type { Suspect } from '../../src/mirror/suspects.ts';
import { askForRow } from '../../src/sync/ask-for-row.ts';

const key = '00000000-0000-4000-8000-000000000001';
const survivorKey = '00000000-0000-4000-8000-000000000002';

const person = (uuid: string, createdAt = '2026-01-01T00:00:00Z', distinctIds: string[] = []) => ({
  uuid,
  id: 1,
  name: 'Ann',
  distinct_ids: distinctIds,
  properties: {},
  created_at: createdAt,
});

const notFound = { type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null };

const survivorWith = (...distinctIds: string[]) => person(survivorKey, undefined, distinctIds);

function suspectWith(distinctIds: number): Suspect {
  return {
    rowKey: 1,
    nominatedPass: 1,
    confirmations: 0,
    confirmedAt: null,
    isApproved: false,
    key,
    id: '9007199254740993',
    distinctIds: Array.from({ length: distinctIds }, (_id, index) => `d${index}`),
    createdAt: '2026-01-02T00:00:00Z',
  };
}

/** What the service has in a person's path: by the integer id; and by the uuid where its path takes one. */
type Shown = { byId: unknown; byUuid: unknown };

/** Asks a service that tells a person by id, or has none, and who holds which distinct id; and what it was asked. */
async function ask(suspect: Suspect, byId: unknown, holders: Record<string, unknown> = {}) {
  const refused = new AppError('no integer', { code: 'rejected', status: 400 });
  return askOf(suspect, { byId, byUuid: refused }, holders);
}

async function askOf(suspect: Suspect, { byId, byUuid }: Shown, holders: Record<string, unknown> = {}) {
  const asked: unknown[] = [];
  const service: Service = {
    requestCount: () => asked.length,
    call: (name, args = {}) => {
      // As documented, there are no batches.
      if (name.startsWith('persons.batch'))
        return Promise.reject(new AppError('no route', { code: 'rejected', status: 404 }));
      const { params = {}, query = {} } = args as { params?: { id?: unknown }; query?: { distinct_id?: string } };
      asked.push(query.distinct_id ?? params.id);
      const person = params.id === key ? byUuid : byId;
      if (name === 'persons.retrieve' && person === undefined)
        return Promise.reject(new AppError('no person', { code: 'rejected', status: 404 }));
      if (name === 'persons.retrieve' && person instanceof AppError) return Promise.reject(person);
      const holder = holders[query.distinct_id ?? ''];
      const body = name === 'persons.retrieve' ? person : { results: holder === undefined ? [] : [holder] };
      return Promise.resolve({ status: 200, body, date: undefined });
    },
  };
  const { verdict } = await askForRow(service, 'persons', suspect, new AbortController().signal);
  return { verdict, asked };
}

describe('a person that a pass did not see', () => {
  it('is asked for by id first, digit for digit, and by nothing else where that shows it', async () => {
    expect(await ask(suspectWith(20_000), person(key))).toEqual({ verdict: 'alive', asked: ['9007199254740993'] });
  });

  it('is alive where its integer id is of an earlier life: the uuid shows it, where the path takes one', async () => {
    const again = { ...person(key), id: 77 };
    const asked = ['9007199254740993', key];
    expect(await askOf(suspectWith(1), { byId: undefined, byUuid: again })).toEqual({ verdict: 'alive', asked });
    const other = { ...person(survivorKey), id: 9_007_199_254_740_991 };
    const suspect = { ...suspectWith(1), id: String(other.id) };
    expect(await askOf(suspect, { byId: other, byUuid: again })).toMatchObject({ verdict: 'alive' });
    expect(await askOf(suspectWith(1), { byId: undefined, byUuid: undefined })).toEqual({
      verdict: 'gone',
      asked: [...asked, 'd0'],
    });
  });

  it('a path that takes no uuid is learnt once for a run', async () => {
    const paths = { takeUuids: true };
    const asked: unknown[] = [];
    const call: Service['call'] = (name, args = {}) => {
      const { id } = (args as { params?: { id?: unknown } }).params ?? {};
      asked.push(id ?? name);
      return Promise.reject(new AppError('no person', { code: 'rejected', status: id === key ? 400 : 404 }));
    };
    const { signal } = new AbortController();
    for (const id of ['5', '6'])
      await askForRow({ requestCount: () => 0, call }, 'persons', { ...suspectWith(0), id }, signal, paths);
    expect(asked).toEqual(['5', key, '6']);
  });

  it.each([
    ['somebody else, with another id', person(survivorKey)],
    ['what is no person, as behind a proxy that makes every answer a 200', notFound],
  ])('is not judged where the service shows %s', async (_what, byId) => {
    await expect(ask(suspectWith(3), byId)).rejects.toMatchObject({ code: 'service' });
  });

  it('is not judged where a distinct id leads to a row that cannot be read', async () => {
    await expect(ask(suspectWith(1), undefined, { d0: {} })).rejects.toMatchObject({ code: 'service' });
  });

  it('has its id no longer where somebody else has it: its distinct ids tell the rest', async () => {
    const other = { ...person(survivorKey), id: 2 };
    const suspect = { ...suspectWith(2), id: '2' };
    expect(await ask(suspect, other)).toEqual({ verdict: 'gone', asked: ['2', key, 'd0', 'd1'] });
    expect(await ask(suspect, other, { d1: person(key) })).toMatchObject({ verdict: 'alive' });
  });

  it('is gone after a 404 by id and a bounded number of distinct ids that lead nowhere', async () => {
    const { verdict, asked } = await ask(suspectWith(20_000), undefined);
    expect(verdict).toBe('gone');
    expect(asked).toHaveLength(2 + 20);
  });

  it('is merged as soon as one distinct id leads to a survivor', async () => {
    const holders = { d1: survivorWith('d1'), d2: survivorWith('d2') };
    expect(await ask(suspectWith(5), undefined, holders)).toEqual({
      verdict: 'merged',
      asked: ['9007199254740993', key, 'd0', 'd1'],
    });
  });

  it('is merged into a survivor that shows as many distinct ids as a list does, and not the one asked for', async () => {
    const holders = { d0: survivorWith(...Array.from({ length: 1000 }, (_id, index) => `other${index}`)) };
    expect(await ask(suspectWith(1), undefined, holders)).toMatchObject({ verdict: 'merged' });
  });

  it('is not judged where the service shows a person without the distinct id that it was asked for', async () => {
    await expect(ask(suspectWith(1), undefined, { d0: survivorWith('other') })).rejects.toMatchObject({
      code: 'service',
    });
  });

  it('is not asked for by an empty distinct id, which is no question', async () => {
    const suspect = { ...suspectWith(0), distinctIds: [''] };
    const everybody = { '': person(survivorKey) };
    expect(await ask(suspect, undefined, everybody)).toEqual({ verdict: 'gone', asked: ['9007199254740993', key] });
  });

  it('is gone where its distinct ids lead only to somebody who came later', async () => {
    const holders = { d0: person(survivorKey, '2026-01-03T00:00:00Z', ['d0']) };
    expect(await ask(suspectWith(2), undefined, holders)).toMatchObject({ verdict: 'gone' });
  });

  it('is alive where its id is unknown but a distinct id leads to it', async () => {
    expect(await ask(suspectWith(2), undefined, { d1: person(key) })).toMatchObject({ verdict: 'alive' });
  });
});

it('a recording whose id can stand in no path is not judged', async () => {
  const refuse = new AppError('needs a path parameter', { code: 'usage' });
  const service: Service = { requestCount: () => 0, call: () => Promise.reject(refuse) };
  const suspect = { ...suspectWith(0), key: '..' };
  const signal = new AbortController().signal;
  expect(await askForRow(service, 'recordings', suspect, signal)).toEqual({ verdict: 'unknown' });
});

describe('a recording that a pass did not see', () => {
  const askFor = async (id: string, isForeign = false) => {
    const missing = new AppError('no recording', { code: 'rejected', status: 404, isForeign });
    const service: Service = { requestCount: () => 1, call: () => Promise.reject(missing) };
    return (await askForRow(service, 'recordings', { ...suspectWith(0), key: id }, new AbortController().signal))
      .verdict;
  };

  it('is gone after a 404', async () => {
    expect(await askFor(key)).toBe('gone');
  });

  it.each(['mobile/1', 'a.b'])('is not judged where no route of a live service takes its id: %s', async (id) => {
    expect(await askFor(id)).toBe('unknown');
  });

  it('is not judged by a 404 that a proxy may send in place of the service', async () => {
    await expect(askFor(key, true)).rejects.toMatchObject({ code: 'rejected', isForeign: true });
    expect(await askFor('a.b', true)).toBe('unknown');
  });

  it('is not judged where a proxy makes every answer a 200', async () => {
    const reply = { status: 200, body: notFound, date: undefined };
    const service: Service = { requestCount: () => 1, call: () => Promise.resolve(reply) };
    const asked = askForRow(service, 'recordings', suspectWith(0), new AbortController().signal);
    await expect(asked).rejects.toMatchObject({ code: 'service' });
  });
});
