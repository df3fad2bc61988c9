import { expect, it } from 'vitest';
import type { z } from 'zod';
import type { Recording } from '../../src/contract/resources.ts';
import { ask, smallSandbox, type ListBody } from './sandbox-requests.ts';

type RecordingBody = z.infer<typeof Recording>;

it('recordings are newest first, in pages whose links lead on and back', async () => {
  await using sandbox = await smallSandbox();
  const page = async (query: string): Promise<ListBody<RecordingBody>> =>
    JSON.parse((await ask(sandbox, `/session_recordings/?${query}`)).text) as ListBody<RecordingBody>;
  const all = await page('');
  expect(all).toMatchObject({ count: 12, next: null, previous: null });
  const starts = all.results.map(({ start_time }) => start_time);
  expect(starts).toEqual(starts.toSorted().toReversed());
  const second = await page('limit=5&offset=5');
  expect(second.results).toEqual(all.results.slice(5, 10));
  expect(second.next).toBe(`${sandbox.url}/api/environments/1/session_recordings/?limit=5&offset=10`);
  expect(second.previous).toBe(`${sandbox.url}/api/environments/1/session_recordings/?limit=5&offset=0`);
  expect((await page('limit=5&offset=10')).next).toBeNull();
  expect((await ask(sandbox, '/session_recordings/?limit=0')).status).toBe(400);
});

it('a recording embeds its person, whose distinct ids are its first one as a string', async () => {
  await using sandbox = await smallSandbox();
  const { results } = JSON.parse((await ask(sandbox, '/session_recordings/')).text) as ListBody<RecordingBody>;
  for (const recording of results) {
    const { text } = await ask(sandbox, `/session_recordings/${recording.id}/`);
    expect(JSON.parse(text)).toEqual(recording);
    const person = JSON.parse((await ask(sandbox, `/persons/${recording.person.id}/`)).text) as {
      distinct_ids: string[];
    };
    expect(recording.person).toEqual({ ...person, distinct_ids: person.distinct_ids[0] });
    expect(person.distinct_ids).toContain(recording.distinct_id);
    expect(recording.viewed).toBe(recording.viewers.length > 0);
  }
});

it('a trend insight is stored, and its query has to be JSON text', async () => {
  await using sandbox = await smallSandbox();
  const create = (body: unknown) => ask(sandbox, '/insights/trend/?format=json', { method: 'POST', body });
  const insight = {
    name: 'Pages',
    query: '{"kind":"TrendsQuery"}',
    dashboards: [1],
    tags: ['a', 1],
    filters: { x: [] },
  };
  expect(await create(insight)).toMatchObject({ status: 200, text: '' });
  expect(sandbox.store.insights.all().map((text) => JSON.parse(text) as unknown)).toEqual([insight]);
  for (const [body, attr] of [
    [{ query: '{kind' }, 'query'],
    [{ query: {} }, 'query'],
    [{ order: 'first' }, 'order'],
    ['nope', null],
  ] as const) {
    const { status, text } = await create(body);
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ attr })]);
  }
  expect(sandbox.store.insights.all()).toHaveLength(1);
});
