import { expect, test, vi } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import type { Columns } from '../../src/contract/tolerant-reader.ts';
import { renumberFeeds } from '../../src/mirror/feeds.ts';
import { catalogueProperties, countNewProperties, listProperties } from '../../src/mirror/properties.ts';
import { prepareEraseRows } from '../../src/mirror/remove-rows.ts';
import { prepareWriteRows } from '../../src/mirror/write-rows.ts';
import { personRow } from '../snapshot/rows.ts';
import { openTestMirror } from './open-test-mirror.ts';

const signal = new AbortController().signal;
const [first, second, third] = ['2026-11-01', '2026-11-02', '2026-11-03'].map((day) => `${day}T00:00:00.000Z`) as [
  string,
  string,
  string,
];

function openCatalogue() {
  const { db } = openTestMirror();
  const show = (properties: readonly (object | string | null)[]): void => {
    const rows = properties.map((one, at): Columns => {
      const text = typeof one === 'object' && one !== null ? JSON.stringify(one) : one;
      return { ...personRow(`person-${at}`, { properties: text, id: at }), distinct_ids: `["device-${at}"]` };
    });
    db.transaction(() => prepareWriteRows(db, 'persons')({ rows, quarantined: [], at: first }, 1))();
  };
  const names = () => listProperties(db).map(({ name }) => name);
  return {
    db,
    show,
    names,
    look: (at = first, meant: 'all' | 'newest' = 'all') => catalogueProperties(db, { at, meant, signal }),
  };
}

test('properties are known with their types, their fill, and when they were seen first', async () => {
  const { db, show, look } = openCatalogue();
  show([{ plan: 'pro', seats: 3 }, { plan: null, on: true }, { plan: 'x', seats: 2.5 }, '[{"a":1}]', '"text"', null]);
  await look();
  expect(listProperties(db)).toEqual([
    { name: 'on', types: ['boolean'], fill: 1 / 6, firstSeenAt: first, looksLike: null },
    { name: 'plan', types: ['null', 'text'], fill: 3 / 6, firstSeenAt: first, looksLike: null },
    { name: 'seats', types: ['integer', 'real'], fill: 2 / 6, firstSeenAt: first, looksLike: null },
  ]);
});

// Five thousand persons of 200 kB each ended every export for want of memory.
test('of the texts that are looked at, one is in memory at a time', async () => {
  const { db, show, look, names } = openCatalogue();
  show([{ plan: 'pro' }, { plan: 'free' }]);
  const all = vi.spyOn(Object.getPrototypeOf(db.prepare('SELECT 1')) as { all: () => unknown[] }, 'all');
  await look();
  expect(all.mock.results.flatMap(({ value }) => value as unknown[])).not.toContain('{"plan":"pro"}');
  all.mockRestore();
  expect(names()).toEqual(['plan']);
});

test('only rows that are new or changed are looked at; what appears later is new, until it is decided on or a week has passed', async () => {
  const { db, show, look, names } = openCatalogue();
  await look();
  show([{ plan: 'pro' }, { plan: 'pro' }]);
  await look();
  // The catalogue begins with what there is, also where that is nothing.
  expect(countNewProperties(db, first, [])).toBe(0);
  // An unchanged row whose text was altered beside the feed is not read again.
  db.exec(`UPDATE persons SET properties = '{"hidden":1}' WHERE uuid = 'person-1'`);
  show([{ plan: 'pro', passport: 'x' }]);
  await look(second);
  expect(names()).toEqual(['passport', 'plan']);
  expect(countNewProperties(db, first, [])).toBe(1);
  expect(countNewProperties(db, first, ['passport'])).toBe(0);
  expect(countNewProperties(db, third, [])).toBe(0);
  const before = listProperties(db);
  await look(third);
  expect(listProperties(db)).toEqual(before);
  // An older mirror whose feeds got new numbers is looked at again, and nothing of it is new.
  renumberFeeds(db, 1_795_870_350_476_000);
  expect(
    db.prepare(`SELECT DISTINCT typeof(seq) FROM sqlite_sequence WHERE name IN ('changes', 'deletions')`).pluck().all(),
  ).toEqual(['integer']);
  await look(third);
  expect(listProperties(db).find(({ name }) => name === 'passport')?.firstSeenAt).toBe(second);
});

test('what a first look that was cut off had not seen is not new to the next one', async () => {
  const { db, show, look, names } = openCatalogue();
  show(Array.from({ length: 5001 }, (_none, at) => (at < 5000 ? { plan: 'pro' } : { last: 1 })));
  const cut = AbortSignal.abort(new Error('cut off'));
  await expect(catalogueProperties(db, { at: first, meant: 'all', signal: cut })).rejects.toThrow('cut off');
  expect(names()).toEqual(['plan']);
  await look(second);
  expect(names()).toEqual(['last', 'plan']);
  expect(countNewProperties(db, first, [])).toBe(0);
});

test('more rows than one step looks at are all looked at, each once', async () => {
  const { db, show, look } = openCatalogue();
  show(Array.from({ length: 12_001 }, (_none, at) => ({ plan: at % 2 === 0 ? 'pro' : 7 })));
  await look();
  expect(db.prepare('SELECT rows FROM properties').pluck().all()).toEqual([12_001]);
  expect(listProperties(db)).toMatchObject([{ types: ['integer', 'text'], fill: 1 }]);
});

test.each([
  ['contact', ['ann@example.com', 'b@c.de', 'none'], 'address'],
  ['contact', ['ann@example.com', 'none', 'no'], null],
  ['link', ['https://a.example/@b/c.html'], null],
  ['number', ['+41 44 123 45 67', '+1 (555) 010-9999'], 'phone'],
  ['number', ['+1', '+12 o clock is late'], null],
  ['paid', ['4111 1111 1111 1111', 4242424242424242], 'card'],
  ['paid', ['4111 1111 1111 1112'], null],
  ['at', [1_700_000_000_000, 1_700_000_000_018], null],
  ['shipping_address', ['Gasse 1'], 'address'],
  ['Street', [null], 'address'],
  ['addressed', ['Gasse 1'], null],
  ['$ip', ['10.0.0.1'], null],
] as const)('a property %s of the values %j looks like %s', async (name, values, look) => {
  const catalogue = openCatalogue();
  catalogue.show(values.map((value) => ({ [name]: value })));
  await catalogue.look();
  expect(listProperties(catalogue.db)).toMatchObject([{ name, looksLike: look }]);
});

test('names are bounded, and odd ones are names as others', async () => {
  const { show, look, names } = openCatalogue();
  show([
    { ['x'.repeat(201)]: 1, ['y'.repeat(200)]: 1, '': 1, "'": 1, 'flag ann@example.com': 1 },
    '{"__proto__":1,"\\ud800":1,"a":1,"a":2}',
  ]);
  await look();
  expect(names().toSorted()).toEqual(['', "'", '__proto__', 'a', 'y'.repeat(200), '\ufffd'].toSorted());
});

test('of more names than anybody reads, the first are known', async () => {
  const { show, look, names } = openCatalogue();
  show([
    Object.fromEntries(Array.from({ length: 10_050 }, (_none, at) => [`name ${at}`, 1])),
    { 'name 1': 'again', later: 1 },
  ]);
  await look();
  expect(names()).toHaveLength(10_000);
  expect(names()).not.toContain('later');
});

test('an erasure forgets names that hold an identifier of the person', async () => {
  const { db, show, look, names } = openCatalogue();
  show([{ 'seen_by DEVICE-0': 1, 'device-0': 1, plan: 1 }, { 'device-1': 1 }]);
  await look();
  db.transaction(() =>
    prepareEraseRows(db)('r', { ...nobody, person_uuid: ['person-0'], distinct_id: ['device-0', 'an'] }, second),
  )();
  expect(names()).toEqual(['device-1', 'plan']);
});

test('where nothing depends on it, only the newest changes are looked at; all are, once they are meant, and none is new then', async () => {
  const { db, show, look, names } = openCatalogue();
  show([{ old: 1 }]);
  db.exec(`UPDATE sqlite_sequence SET seq = 30000 WHERE name = 'changes'`);
  show([{ old: 1 }, { plan: 'pro' }]);
  await look(first, 'newest');
  expect(names()).toEqual(['plan']);
  await look(second);
  expect(names()).toEqual(['old', 'plan']);
  expect(countNewProperties(db, first, [])).toBe(0);
  show([{ old: 1 }, { plan: 'pro' }, { passport: 'x' }]);
  await look(third);
  expect(countNewProperties(db, first, [])).toBe(1);
});
