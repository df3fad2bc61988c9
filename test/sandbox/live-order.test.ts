import { expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { LiveOptions } from '../../src/sandbox/live/live-data.ts';
import { ask, smallSandbox, standingClock } from './sandbox-requests.ts';

type Row = { uuid: string; created_at: string };

const noGhosts = { ghostShare: 0, ghostRun: 0 };
const clock = standingClock('2025-06-04T12:00:00Z');

const world = (live: Partial<LiveOptions> = {}) =>
  smallSandbox({ profile: 'live', persons: 240, live: { ...noGhosts, oldestTied: 100, ...live }, clock });

async function rowsAt(sandbox: Sandbox, limit: number, offset: number): Promise<Row[]> {
  const { text } = await ask(sandbox, `/persons/?limit=${limit}&offset=${offset}`);
  return (JSON.parse(text) as { results: Row[] }).results;
}
const uuidsAt = async (...window: Parameters<typeof rowsAt>): Promise<string[]> =>
  (await rowsAt(...window)).map(({ uuid }) => uuid);

/** As a column store compares uuids: as numbers, the second half first. */
const asNumber = (uuid: string): bigint => {
  const hex = uuid.replaceAll('-', '');
  return BigInt(`0x${hex.slice(16)}${hex.slice(0, 16)}`);
};
const msOf = ({ created_at: at }: { created_at: string }): number => Math.floor(Date.parse(at));

/** What a page of this window has to show: selected in one order, sorted in the other. */
function expectedAt(sandbox: Sandbox, limit: number, offset: number): string[] {
  const selected = [...sandbox.living()].toSorted(
    (a, b) => msOf(b) - msOf(a) || (asNumber(a.uuid) < asNumber(b.uuid) ? 1 : -1),
  );
  const page = selected.slice(offset, offset + limit);
  return page.toSorted((a, b) => msOf(b) - msOf(a) || (a.uuid < b.uuid ? -1 : 1)).map(({ uuid }) => uuid);
}

it('selects persons by the second half of their uuid, and sorts them again within the page', async () => {
  await using sandbox = await world();
  for (const [limit, offset] of [
    [240, 0],
    [60, 0],
    [50, 120],
    [50, 170],
    [37, 203],
  ] as const)
    expect(await uuidsAt(sandbox, limit, offset)).toEqual(expectedAt(sandbox, limit, offset));
});

it('so the rows that two pages share are not the end of the one and the beginning of the other', async () => {
  await using sandbox = await world();
  const [first, second] = [await uuidsAt(sandbox, 190, 0), await uuidsAt(sandbox, 70, 170)];
  expect(first.filter((uuid) => second.includes(uuid))).toHaveLength(20);
  expect(first.slice(-20).toSorted()).not.toEqual(second.slice(0, 20).toSorted());
});

it('the oldest persons share one millisecond, as many as are asked for', async () => {
  await using sandbox = await world();
  const rows = await rowsAt(sandbox, 240, 0);
  const [oldest] = rows.toReversed();
  expect(rows.filter(({ created_at: at }) => at === oldest?.created_at)).toHaveLength(100);
  expect(new Set(rows.slice(140).map(msOf)).size).toBe(1);
  expect(msOf(rows[139] ?? { created_at: '' })).toBeGreaterThan(msOf(rows[140] ?? { created_at: '' }));
});

it('persons of one millisecond are sorted anew on each page, and selected as before', async () => {
  await using sandbox = await world({ tieOrder: 'anew-on-each-page' });
  const [first, second] = [await uuidsAt(sandbox, 50, 150), await uuidsAt(sandbox, 50, 150)];
  expect(first).not.toEqual(second);
  expect(first.toSorted()).toEqual(second.toSorted());
  expect(first.toSorted()).toEqual(expectedAt(sandbox, 50, 150).toSorted());
});

it('persons of one millisecond are selected anew by each request, and others stay where they are', async () => {
  await using sandbox = await world({ tieOrder: 'anew-in-each-selection' });
  const [first, second] = [await uuidsAt(sandbox, 50, 150), await uuidsAt(sandbox, 50, 150)];
  expect(first.toSorted()).not.toEqual(second.toSorted());
  expect(await uuidsAt(sandbox, 140, 0)).toEqual(expectedAt(sandbox, 140, 0));
  expect((await uuidsAt(sandbox, 240, 0)).toSorted()).toEqual(expectedAt(sandbox, 240, 0).toSorted());
});

it('hides persons who are dated more than a day ahead from lists, and answers for them by uuid', async () => {
  await using sandbox = await world();
  const create = (id: string, createdAt: string): string =>
    sandbox.act({ do: 'create', distinct_ids: [id], created_at: createdAt }).created[0] ?? '';
  const [soon, late] = [create('soon', '2025-06-05T11:59:00Z'), create('late', '2025-06-05T12:01:00Z')];
  const listed = await uuidsAt(sandbox, 500, 0);
  expect([listed.includes(soon), listed.includes(late)]).toEqual([true, false]);
  const { text } = await ask(sandbox, '/persons/?distinct_id=late');
  expect(JSON.parse(text)).toMatchObject({ results: [] });
  expect((await ask(sandbox, `/persons/${late}/`)).status).toBe(200);
});

it.each([
  [false, false],
  [true, true],
] as const)('a person that returns keeps its uuid (former id: %s, hidden from lists: %s)', async (revivesId, hides) => {
  await using sandbox = await world({ revivesId, hidesReturned: hides });
  const [person] = [...sandbox.living()].slice(7);
  if (!person) throw new Error('nobody');
  const { uuid, id } = person;
  sandbox.act({ do: 'delete', uuid });
  sandbox.act({ do: 'resurrect', uuid });
  const back = [...sandbox.living()].find((living) => living.uuid === uuid);
  expect(back?.id === id).toBe(revivesId);
  expect(sandbox.act({ do: 'create' }).created).not.toContain(uuid);
  const { text } = await ask(sandbox, `/persons/${uuid}/`);
  expect(JSON.parse(text)).toMatchObject({ id: back?.id, uuid });
  expect((await uuidsAt(sandbox, 500, 0)).includes(uuid)).toBe(!hides);
});
