import { expect, it } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
import type { Service } from '../../../src/client/service.ts';
import { meetStrangers } from '../../../src/erasure/find/strangers.ts';
import { openTestMirror } from '../../mirror/open-test-mirror.ts';

const uuid = '0189f1c0-7e5e-7bd2-a3c1-52f0a4d1c009';
const other = '0189f1c0-7e5e-7bd2-a3c1-52f0a4d1c008';

/** What is said of a stranger at a service that answers every call so; and how often it was asked for two. */
async function meetTwice(answer: object | number | null) {
  let asked = 0;
  const service: Service = {
    requestCount: () => asked,
    call: () => {
      asked += 1;
      if (typeof answer !== 'number') return Promise.resolve({ status: 200, body: answer, date: undefined });
      const code = answer < 500 ? 'rejected' : 'service';
      return Promise.reject(new AppError('no', { code, status: answer }));
    },
  };
  const { signal } = new AbortController();
  const { db } = openTestMirror();
  const stranger = { uuid, id: '9', distinctIds: [] };
  const meet = meetStrangers({ db, settings: { dataDir: '' }, service: answer === null ? null : service, signal });
  const met = [await meet(stranger), await meet(stranger)];
  expect(met[1]).toEqual(met[0]);
  return { met: met[0], asked };
}

it('a stranger whom the service shows lives, with the distinct ids that it shows', async () => {
  const { met } = await meetTwice({ uuid, id: 9, distinct_ids: ['tablet'] });
  expect(met).toMatchObject({ person_uuid: uuid, distinct_ids: ['tablet'] });
});

it('one who is gone does not', async () => {
  expect((await meetTwice(404)).met).toBeNull();
});

it('one of whom the service does not tell lives, and it is asked for no other', async () => {
  const { met, asked } = await meetTwice(503);
  expect(met).toMatchObject({ person_uuid: uuid, person_id: '9', distinct_ids: [] });
  expect(asked).toBe(1);
  expect((await meetTwice(400)).met).toMatchObject({ person_uuid: uuid });
  expect(await meetTwice(null)).toMatchObject({ met: { person_uuid: uuid }, asked: 0 });
});

it.each([
  [
    'the stranger has',
    { results: [{ uuid, id: 9, distinct_ids: ['tablet', 'phone'] }] },
    { distinct_ids: ['tablet', 'phone'] },
  ],
  ['somebody else has', { results: [{ uuid: other, id: 8, distinct_ids: ['tablet'] }] }, null],
  ['nobody has', { results: [] }, null],
  ['an answer does not show', { results: [{ uuid: other, id: 8, distinct_ids: ['phone'] }] }, { distinct_ids: [] }],
])(
  'where a service cannot be asked for a uuid, it is asked for the distinct id: one that %s',
  async (_who, body, met) => {
    const service: Service = {
      requestCount: () => 0,
      call: (name) =>
        name === 'persons.list'
          ? Promise.resolve({ status: 200, body, date: undefined })
          : Promise.reject(new AppError('no uuid', { code: 'rejected', status: 400 })),
    };
    const { signal } = new AbortController();
    const { db } = openTestMirror();
    const meet = meetStrangers({ db, settings: { dataDir: '' }, service, signal });
    const told = await meet({ uuid, id: null, distinctIds: ['tablet'] });
    expect(told).toEqual(met && expect.objectContaining({ person_uuid: uuid, ...met }));
  },
);
