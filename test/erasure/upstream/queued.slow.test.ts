import { describe, expect, it } from 'vitest';
import type { TransportResponse } from '../../../src/client/transport.ts';
import { answer, isDeletion, openUpstreamWorld, type UpstreamWorld } from './upstream-world.ts';

const queued = (live = {}, persons = 60) =>
  openUpstreamWorld({ profile: 'live', persons, recordings: 0, live: { bulkDeletion: 'queued', ...live } });
const bulkIds = (world: UpstreamWorld): string[][] => world.bulkBodies.map(({ ids }) => ids);
describe('a deletion that the service queues', () => {
  it('is waited for, and sent once, although the person is shown for minutes', async () => {
    const world = await queued({ actsAfterRequests: 1_000_000 });
    const [person] = world.people();
    if (!person) throw new Error('nobody lives');
    const subject = world.request([person]);
    const { awaiting } = await world.advance([subject]);
    expect(awaiting).toHaveLength(1);
    expect(world.target(subject, 'person')).toMatchObject({
      status: 'waiting',
      attempts: 1,
      confirmations: 0,
      notBefore: '2025-06-04T12:10:00.000Z',
    });
    world.pass(300);
    await world.advanceTwice([subject]);
    expect(world.target(subject, 'person')).toMatchObject({ confirmations: 1 });
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted', assurance: 'observed' });
    expect(bulkIds(world)).toEqual([[person.uuid]]);
    expect(world.singly()).toEqual([]);
    expect(world.ledger.records.filter(({ type }) => type === 'attention')).toEqual([]);
  });

  it('of a thousand persons costs a handful of requests', async () => {
    const world = await queued({}, 1400);
    const subjects = world.everybody(1000);
    await world.advanceTimes(4, 600, subjects);
    for (const subject of subjects) expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.sandbox.store.events.deletions()).toHaveLength(1000);
    expect(bulkIds(world).map(({ length }) => length)).toEqual([1000]);
    expect(world.singly()).toEqual([]);
    // Before the first deletion, each person's earlier deletions of events are asked for by uuid.
    const requests = world.sandbox.requests();
    const looks = requests.filter(({ endpoint }) => endpoint === 'persons.deletion_status').length;
    expect(looks).toBeLessThan(1010);
    expect(requests.length - looks).toBeLessThan(70);
  });

  it('and gives up without a word is sent again, in one call for all, and certified in the end', async () => {
    const world = await queued({ queueGivesUp: true });
    const subjects = world.everybody(60);
    const given = subjects.filter(({ identity }) => identity.person_uuid[0]?.endsWith('0'));
    expect(given.length).toBeGreaterThan(1);
    await world.advanceTimes(6, 600, subjects);
    expect(bulkIds(world).map(({ length }) => length)).toEqual([60, given.length]);
    expect(world.singly()).toEqual([]);
    for (const subject of subjects) expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.ledger.of('person').filter((line) => line === 'intent')).toHaveLength(2);
  });

  it('and gives up for ever is sent so often and no more, and then is for somebody to look at', async () => {
    const world = await queued();
    const [subject] = world.everybody(1);
    if (!subject) throw new Error('nobody lives');
    const taken = { persons_found: 1, persons_deleted: 0, persons_queued_for_deletion: 1, deletion_errors: [] };
    world.answerTo(isDeletion, answer(202, JSON.stringify(taken)));
    await world.advanceTimes(8, 600, [subject]);
    expect(bulkIds(world)).toHaveLength(world.settings.retry.attemptsMax);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
  });

  it('whose answer names somebody as not found is not counted for that one', async () => {
    const world = await queued({ namesIdsNotFound: true });
    const subjects = world.everybody(8);
    const [gone] = subjects;
    const uuid = gone?.identity.person_uuid[0] ?? '';
    let isFirst = true;
    world.intercept((request, send) => {
      // Somebody else deletes one between look-up and call.
      if (isDeletion(request) && isFirst) {
        isFirst = false;
        world.sandbox.act({ do: 'delete', uuid });
      }
      return send();
    });
    await world.advanceTimes(4, 600, subjects);
    const results = subjects.map((subject) => world.target(subject, 'person').result);
    expect(results).toEqual(['already_absent', ...Array.from({ length: 7 }, () => 'deleted')]);
    expect(bulkIds(world)).toHaveLength(1);
  });
});

type Lie = (response: TransportResponse) => TransportResponse;
const withText = (change: (text: string) => string): Lie => {
  return (response) => ({ ...response, bytes: Buffer.from(change(response.bytes.toString())) });
};
const stranger = JSON.stringify({ uuid: '00000000-0000-4000-8000-00000000000f', id: 1, distinct_ids: ['stranger'] });

describe('a service whose batches do not tell the truth', () => {
  it.each<[string, Lie]>([
    ['empty', withText(() => '{"results":{}}')],
    ['an empty list', withText(() => '{"results":[]}')],
    ['without results', withText(() => '{}')],
    ['null', withText(() => 'null')],
    ['a stranger', withText(() => `{"results":[${stranger}]}`)],
    [
      'rows of others',
      withText((text) => text.replace(/"uuid":"[^"]+"/g, '"uuid":"00000000-0000-4000-8000-00000000000f"')),
    ],
    ['one row too many', withText((text) => text.replace('{"results":{', `{"results":{"x":${stranger},`))],
    ['cut short', withText((text) => text.slice(0, text.length / 2))],
    ['only the first of the answer', withText((text) => firstOf(text, 10))],
    ['only the last of the answer', withText((text) => firstOf(text, -10))],
    ['every second row', withText((text) => withoutEverySecond(text))],
    ['a login page', () => answer(200, '<html>', 'text/html')],
    ['a failure', () => answer(500)],
  ])('has nobody taken for deleted who is there (%s)', async (_what, lie) => {
    const world = await queued({}, 150);
    const subjects = world.everybody(60);
    const count = subjects.length;
    const taken = { persons_found: count, persons_deleted: 0, persons_queued_for_deletion: count, deletion_errors: [] };
    world.intercept(async (request, send) => {
      // The deletion is taken, and never made.
      if (request.path.includes('bulk_delete') && request.body !== '{"ids":[]}')
        return answer(202, JSON.stringify(taken));
      const response = await send();
      return request.path.includes('batch_by_') && !request.body?.endsWith('[]}') ? lie(response) : response;
    });
    await world.advanceTimes(3, 600, subjects);
    expect(world.people()).toHaveLength(150);
    for (const subject of subjects)
      expect(world.target(subject, 'person')).toMatchObject({ confirmations: 0, result: null });
  });
});

/** An answer without every second of its results, which keeps the first and the last. */
function withoutEverySecond(text: string): string {
  const entries = Object.entries((JSON.parse(text) as { results: Record<string, unknown> }).results);
  const kept = entries.filter((_entry, index) => index % 2 === 0 || index === entries.length - 1);
  return JSON.stringify({ results: Object.fromEntries(kept) });
}

/** The first members of an answer's results, or the last of them for a negative count. */
function firstOf(text: string, count: number): string {
  const entries = Object.entries((JSON.parse(text) as { results: Record<string, unknown> }).results);
  return JSON.stringify({ results: Object.fromEntries(count > 0 ? entries.slice(0, count) : entries.slice(count)) });
}
