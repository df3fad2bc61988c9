import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type DecidedMask, hashOf, prepareMasks } from '../../src/export/masks.ts';
import { hidesAll } from '../../src/export/retire-snapshots.ts';
import { publicationOf } from '../../src/export/promote-and-mask.ts';
import type { Mask } from '../../src/config/settings.ts';
import { exportAll, openWorld, perform, type World } from './exported-world.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { personRow, recordingRow } from '../snapshot/rows.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

const email: Mask = { property: 'email', how: 'hash' };

/** Also in docs/configuration.md. The hashes were made by Python's own HMAC. */
test.for([
  ['email', 'ann@example.com', 'h1:XKZvd4ltdzx_U3YN2IJLMM53Y6ozXVPRVcfd94vEnRU'],
  ['email', 'Zoë 😀', 'h1:R509uOMNlMasAQaEN1k-yqcZW-oEQ0QDELGqEOmeIfY'],
  ['age', 7, 'h1:NFpKFmD2wbAo0nVvpGTucy7gfI1jqtMTObNaiBXcBHU'],
] as const)('the hash of %s %s under a known key is known', ([property, value, hash]) => {
  const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
  expect(hashOf(key, property, value)).toBe(hash);
});

test('no two of property, type and value have the hash of others', () => {
  const key = Buffer.alloc(32);
  const hashes = [
    hashOf(key, 'a', 'bc'),
    hashOf(key, 'ab', 'c'),
    hashOf(key, 'a', '7'),
    hashOf(key, 'a', 7),
    hashOf(key, 'b', 7),
    hashOf(Buffer.alloc(32, 1), 'b', 7),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
});

test('a hashed property is the same text wherever it stands, and null and missing ones stay so', () => {
  const dataDir = temporaryFolder();
  const mask: Mask[] = [email, { property: 'name', how: 'hash' }, 'phone'];
  const persons = publicationOf('persons', { promote: ['email'], mask, dataDir });
  const properties = '{"email":"ann@example.com","name":"Ann","phone":"1","plan":12345678901234567890}';
  const row = persons.publish(personRow('p1', { name: 'Ann', properties }));
  const hash = String(row['property_email']);
  expect(hash).toMatch(/^h1:[\w-]{43}$/);
  const name = String(row['name']);
  expect(name).toMatch(/^h1:/);
  expect(row['properties']).toBe(`{"email":"${hash}","name":"${name}","phone":null,"plan":12345678901234567890}`);
  const recordings = publicationOf('recordings', { promote: ['email'], mask, dataDir });
  const person = `{"id":7,"name":"Ann","properties":${properties}}`;
  expect(recordings.publish(recordingRow('r1', { person }))).toMatchObject({
    property_email: hash,
    person: `{"id":7,"name":"${name}","properties":${String(row['properties'])}}`,
  });
  const none = personRow('p2', { name: null, properties: '{"email":null}' });
  expect(persons.publish(none)).toEqual({ ...none, property_email: null });
  expect(statSync(join(dataDir, 'keys', 'mask.key')).mode & 0o777).toBe(0o600);
});

test('a name that repeats a masked property is masked as that property', () => {
  const dataDir = temporaryFolder();
  const properties = { email: 'ann@x.test', age: 7 };
  for (const [mask, shown] of [
    ['email', null],
    [email, expect.stringMatching(/^h1:/)],
  ] as const) {
    const persons = publicationOf('persons', { promote: [], mask: [mask, 'age'], dataDir });
    const name = (text: string | null) =>
      persons.publish(personRow('p1', { name: text, properties: JSON.stringify(properties) }))['name'];
    expect([name('ann@x.test'), name('Ann'), name('7'), name(null)]).toEqual([shown, 'Ann', null, null]);
    const recordings = publicationOf('recordings', { promote: [], mask: [mask], dataDir });
    const person = JSON.stringify({ uuid: 'u', name: 'ann@x.test', properties });
    const row = recordings.publish(recordingRow('r1', { person }));
    expect(JSON.parse(String(row['person']))).toMatchObject({ name: shown, properties: { email: shown, age: 7 } });
    // An address, whatever is shown beside it, and in another spelling.
    for (const [text, beside] of [
      ['eve@x.test', {}],
      ['Ann@X.test', { email: ' ann@x.test' }],
    ] as const) {
      const embedded = JSON.stringify({ uuid: 'u', name: text, properties: beside });
      const { person: published } = recordings.publish(recordingRow('r2', { person: embedded }));
      expect(JSON.parse(String(published))).toMatchObject({ name: shown });
    }
  }
});

test('properties that are no object are left out where something is masked, since their keys cannot be told', () => {
  for (const properties of ['"{\\"email\\":\\"ann@x.test\\"}"', '[{"email":"ann@x.test"}]', '7', 'null']) {
    const masking = { promote: ['email'], mask: ['email'] };
    expect(publicationOf('persons', masking).publish(personRow('p1', { properties }))).toMatchObject({
      properties: null,
    });
    const recordings = publicationOf('recordings', masking);
    const published = (person: string): unknown => recordings.publish(recordingRow('r1', { person }))['person'];
    expect(published(`{"id":7,"properties":${properties}}`)).toBe('{"id":7,"properties":null}');
    expect(published(properties)).toBe(null);
  }
  expect(
    publicationOf('recordings', { promote: [], mask: ['email'] }).publish(recordingRow('r1', { person: '{"id":7}' })),
  ).toMatchObject({ person: '{"id":7}' });
  expect(
    publicationOf('persons', { promote: ['email'], mask: [] }).publish(personRow('p1', { properties: '[7]' })),
  ).toMatchObject({ properties: '[7]' });
});

test('what is also left out is left out, and a hashed property is a column of strings only', () => {
  const dataDir = temporaryFolder();
  const { publish } = publicationOf('persons', { promote: [], mask: ['email', email], dataDir });
  expect(publish(personRow('p1', { properties: '{"email":"a"}' }))['properties']).toBe('{"email":null}');
  expect(() =>
    publicationOf('persons', { promote: [{ property: 'email', type: 'int64' }], mask: [email], dataDir }),
  ).toThrow(expect.objectContaining({ code: 'usage' }) as Error);
  expect(prepareMasks(['email', email], dataDir).decided).toEqual(['email']);
});

test('a snapshot hides what another one hides where it has it left out, or hashed under the same key', () => {
  const hashed = { property: 'email', how: 'hash', key: 'a'.repeat(32) } as const;
  const hides = (found: DecidedMask[], wanted: DecidedMask[]): boolean =>
    hidesAll({ promote: [], mask: found }, { promote: [], mask: wanted });
  expect(hides(['email'], [hashed])).toBe(true);
  expect(hides([hashed], [hashed])).toBe(true);
  expect(hides([hashed], ['email'])).toBe(false);
  expect(hides([{ ...hashed, key: 'b'.repeat(32) }], [hashed])).toBe(false);
  expect(hides([], [hashed])).toBe(false);
});

test('a snapshot hides what another one does not list where it lists no more', () => {
  const decided = (promote: string[], isListed = true) => ({
    promote,
    mask: [],
    ...(isListed && { properties: 'listed' as const }),
  });
  expect(hidesAll(decided(['plan']), decided(['plan', 'seats']))).toBe(true);
  expect(hidesAll(decided(['plan', 'seats']), decided(['plan']))).toBe(false);
  expect(hidesAll(decided(['plan'], false), decided(['plan']))).toBe(false);
  expect(hidesAll(decided(['plan'], false), decided([], false))).toBe(true);
});

test('a column has another number once it is hashed, once the key is another one, and once it is plain again', async () => {
  const world: World = openWorld();
  perform(world, { do: 'show persons', persons: [{ number: 1, name: 'a', distinctIds: ['d'] }] });
  const columnsOf = async (mask: Mask[], settings = world.settings): Promise<Record<string, number | undefined>> => {
    const exporting = { ...settings, export: { ...settings.export, promote: ['email'], mask } };
    const [made] = await exportAll(world, 'delta', exporting, ['persons']);
    expect(made?.kind).toBe('full');
    const { columns, publication } = publishedFilesIn(world.dataDir).readManifest({
      dataset: 'persons',
      snapshotId: made?.snapshotId ?? '',
    });
    expect(publication.mask).toHaveLength(mask.length);
    return Object.fromEntries(columns.map(({ name, id }) => [name, id]));
  };
  const both: Mask[] = [email, { property: 'name', how: 'hash' }];
  const seen = [
    await columnsOf([]),
    await columnsOf(both),
    await columnsOf(both, { ...world.settings, dataDir: temporaryFolder() }),
    await columnsOf([]),
  ];
  for (const name of ['name', 'property_email']) expect(new Set(seen.map((columns) => columns[name])).size).toBe(4);
  for (const name of ['person_uuid', 'properties']) expect(new Set(seen.map((columns) => columns[name])).size).toBe(1);
});

test('a snapshot that shows more leaves at the second export after the change, also where rows change in between', async () => {
  const world: World = openWorld({ 'export.keep': 9 });
  const masked = { ...world.settings, export: { ...world.settings.export, mask: ['email'] } };
  const removed: string[][] = [];
  const made: string[] = [];
  for (const [number, settings] of [world.settings, world.settings, masked, masked, masked].entries()) {
    perform(world, { do: 'show persons', persons: [{ number: 1, name: `name ${number}`, distinctIds: ['d'] }] });
    const [one] = await exportAll(world, 'full', settings, ['persons']);
    made.push(one?.snapshotId ?? '');
    removed.push(one?.removed ?? []);
  }
  expect(removed).toEqual([[], [], [], made.slice(0, 2), []]);
});

test('a snapshot that shows more leaves at the second export after the change, also where more is masked at each', async () => {
  const world: World = openWorld({ 'export.keep': 9 });
  perform(world, { do: 'show persons', persons: [{ number: 1, name: 'a', distinctIds: ['d'] }] });
  const removed: string[][] = [];
  const made: string[] = [];
  for (const mask of [[], ['email'], ['email', 'phone'], ['email', 'phone', 'plan']]) {
    const settings = { ...world.settings, export: { ...world.settings.export, mask } };
    const [one] = await exportAll(world, 'full', settings, ['persons']);
    made.push(one?.snapshotId ?? '');
    removed.push(one?.removed ?? []);
  }
  expect(removed).toEqual([[], [], [made[0]], [made[1]]]);
});

test('what is masked without a change of the rows is newer than what was plain: who goes by numbers takes it', async () => {
  const world: World = openWorld({ 'export.keep': 9 });
  perform(world, { do: 'show persons', persons: [{ number: 1, name: 'a', distinctIds: ['d'] }] });
  const numbers: (number | undefined)[] = [];
  for (const changed of [{}, { mask: ['email'] }, { mask: ['email'] }, { properties: 'listed' as const }]) {
    const settings = { ...world.settings, export: { ...world.settings.export, ...changed } };
    const [one] = await exportAll(world, 'delta', settings);
    const snapshot = { dataset: 'persons' as const, snapshotId: one?.snapshotId ?? '' };
    numbers.push(publishedFilesIn(world.dataDir).readManifest(snapshot).seq);
  }
  expect(numbers).toEqual([1, 2, 2, 3]);
  perform(world, { do: 'remove', dataset: 'persons', number: 1 });
  const [, , deletions] = await exportAll(world, 'delta', world.settings);
  expect(deletions).toMatchObject({ dataset: 'deletions', rows: 1 });
  expect(world.db.prepare('SELECT seq FROM deletions').pluck().get()).toBeGreaterThan(3);
});

test('a mirror from before the export that masked more gives no number again: who leaves then is newer than what was published', async () => {
  const world: World = openWorld({ 'export.keep': 9 });
  perform(world, { do: 'show persons', persons: [{ number: 1, name: 'a', distinctIds: ['d'] }] });
  const masked = { ...world.settings, export: { ...world.settings.export, mask: ['email'] } };
  await exportAll(world, 'full', world.settings);
  perform(world, { do: 'copy' });
  const [one] = await exportAll(world, 'full', masked);
  perform(world, { do: 'restore' });
  await exportAll(world, 'full', masked);
  perform(world, { do: 'remove', dataset: 'persons', number: 1 });
  const shown = publishedFilesIn(world.dataDir).readManifest({ dataset: 'persons', snapshotId: one?.snapshotId ?? '' });
  expect(world.db.prepare('SELECT seq FROM deletions').pluck().get()).toBeGreaterThan(shown.seq);
});

test('a mirror that was copied before a number was left out gives it to no change: no reader takes that one for old', async () => {
  const world: World = openWorld({ 'export.keep': 9 });
  const [ann, bob] = [1, 2].map((number) => ({ number, name: 'a', distinctIds: [] }));
  perform(world, { do: 'show persons', persons: [ann, bob].flatMap((one) => one ?? []) });
  perform(world, { do: 'copy' });
  const masked = { ...world.settings, export: { ...world.settings.export, mask: ['email'] } };
  await exportAll(world, 'full', world.settings);
  const [published] = await exportAll(world, 'full', masked);
  const snapshot = { dataset: 'persons' as const, snapshotId: published?.snapshotId ?? '' };
  const { seq } = publishedFilesIn(world.dataDir).readManifest(snapshot);
  perform(world, { do: 'restore' });
  perform(world, { do: 'remove', dataset: 'persons', number: 1 });
  await exportAll(world, 'delta', masked);
  expect(world.db.prepare('SELECT seq FROM deletions').pluck().get()).toBeGreaterThan(seq);
});
