import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Promotion, Settings } from '../../src/config/settings.ts';
import { isoTime } from '../../src/core/clock.ts';
import { publishedDatasets, type PublishedDataset } from '../../src/contract/datasets.ts';
import { publicationOf, type PublicationSettings } from '../../src/export/promote-and-mask.ts';
import { prepareWriteRows } from '../../src/mirror/write-rows.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { personRow, recordingRow } from '../snapshot/rows.ts';
import { exportAll, openWorld } from './exported-world.ts';

const promote = ['plan', { property: 'address.city', as: 'city', type: 'string' }] satisfies Promotion[];
const listed: PublicationSettings = { promote, mask: [], properties: 'listed' };
const all = {
  email: 'ann@example.com',
  plan: { name: 'pro', secret: 1 },
  'address.city': 'Bern',
  address: { city: 'Basel', street: 'Gasse 1' },
};

test('of properties, those that are listed are published: by key or path, whole, and none where there is none', () => {
  const { publish } = publicationOf('persons', listed);
  const shown = (properties: string | null, settings = listed): unknown =>
    publicationOf('persons', settings).publish(personRow('p1', { properties }))['properties'];
  expect(
    publish(personRow('p1', { properties: JSON.stringify(all), extra: '{"seen":1}', name: 'ann@example.com' })),
  ).toEqual({
    ...personRow('p1'),
    properties: '{"plan":{"name":"pro","secret":1},"address.city":"Bern"}',
    property_plan: '{"name":"pro","secret":1}',
    city: 'Bern',
    name: null,
    extra: null,
  });
  expect(shown('{"address":{"city":12345678901234567890,"street":"Gasse 1"}}')).toBe(
    '{"address":{"city":12345678901234567890}}',
  );
  expect(shown('{"address":"Gasse 1","plan":null}')).toBe('{"plan":null}');
  for (const none of [null, '[{"plan":1}]', '"ann@example.com"']) expect(shown(none)).toBeNull();
  // A bare key is no path, and any key is one as others.
  expect(shown('{"address":{"city":"Basel"}}', { ...listed, promote: ['address.city'] })).toBe('{}');
  expect(
    shown('{"__proto__":{"a":1,"b":2}}', { ...listed, promote: [{ property: '__proto__.a', as: 'a', type: 'json' }] }),
  ).toBe('{"__proto__":{"a":1}}');
});

test('the name is published where `name` is listed, and masks hold for what is listed', () => {
  const { publish } = publicationOf('persons', { promote: ['name', 'plan'], mask: ['plan'], properties: 'listed' });
  const row = publish(personRow('p1', { name: 'Ann', properties: '{"name":"Ann","plan":"pro","email":"a"}' }));
  expect(row).toMatchObject({ name: 'Ann', properties: '{"name":"Ann","plan":null}', property_plan: null });
});

test('of the person in a recording, the fields of the contract and the listed properties are published', () => {
  const person = {
    id: 7,
    uuid: 'p1',
    name: 'Ann',
    distinct_ids: ['d1'],
    properties: all,
    created_at: '2026',
    new: 'Ann',
  };
  const publish = (text: string | null): unknown =>
    publicationOf('recordings', listed).publish(recordingRow('r1', { person: text }))['person'];
  expect(JSON.parse(String(publish(JSON.stringify(person))))).toEqual({
    id: 7,
    uuid: 'p1',
    distinct_ids: ['d1'],
    created_at: '2026',
    properties: { plan: all.plan, 'address.city': 'Bern' },
  });
  expect(publish('{"id":7,"properties":["ann@example.com"]}')).toBe('{"id":7,"properties":null}');
  expect(publish('{"id":7}')).toBe('{"id":7}');
  expect(publish(null)).toBeNull();
});

test('unknown fields of any list stay in the mirror, and what the mirror makes is published as it is', () => {
  const extra = '{"last_seen":"Ann"}';
  for (const dataset of ['persons', 'recordings', 'playlists'] as const)
    expect(publicationOf(dataset, listed).publish({ short_id: 'x', extra })).toMatchObject({ extra: null });
  const row = { distinct_id: 'd1', person_uuid: 'p1' };
  expect(publicationOf('distinct_ids', listed).publish(row)).toBe(row);
});

test('whatever the properties are, no key that is not listed is published', () => {
  const key = fc.constantFrom('plan', 'address', 'city', 'address.city', 'x', '__proto__', 'toString', 'name');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constant('SECRET'),
      fc.integer(),
      tie('object'),
      fc.array(tie('value'), { maxLength: 2 }),
    ),
    object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: false }),
  }));
  const { publish } = publicationOf('persons', { ...listed, promote: [promote[1] ?? ''] });
  fc.assert(
    fc.property(fc.dictionary(key, value), (properties) => {
      const text = publish(personRow('p1', { properties: JSON.stringify(properties) }))['properties'];
      const kept = JSON.parse(String(text)) as Record<string, unknown>;
      const inside = Object.hasOwn(kept, 'address') ? Object.keys(kept['address'] as object) : ['city'];
      expect([...Object.keys(kept).filter((one) => !['address', 'address.city'].includes(one)), ...inside]).toEqual([
        'city',
      ]);
    }),
  );
});

/** Whether a text stands in a value of any published row, of every generation, or in any published file as it is. */
async function isPublished(dataDir: string, text: string): Promise<PublishedDataset[]> {
  const found: PublishedDataset[] = [];
  const published = publishedFilesIn(dataDir);
  for (const dataset of publishedDatasets)
    for (const { id } of published.listSnapshots(dataset)) {
      const folder = join(dataDir, 'snapshots', dataset, id);
      for (const name of readdirSync(folder)) {
        const isIn = name.endsWith('.parquet')
          ? JSON.stringify(await readWithHyparquet(join(folder, name)), (_key, value: unknown) =>
              typeof value === 'bigint' ? String(value) : value,
            ).includes(text)
          : readFileSync(join(folder, name), 'utf8').includes(text);
        if (isIn) found.push(dataset);
      }
    }
  return found;
}

test('a property that appears at night is in no published file in the morning, nor in a delta; once all are, it is, until it is not again', async () => {
  const world = openWorld({ 'export.properties': 'listed', 'export.promote': ['plan'] });
  const { db, dataDir, clock } = world;
  const show = (more: object): void => {
    const properties = JSON.stringify({ plan: 'pro', ...more });
    const at = isoTime(clock.now());
    for (const [dataset, row] of [
      ['persons', { ...personRow('p1', { properties }), distinct_ids: '["d1"]' }],
      ['recordings', recordingRow('r1', { person: `{"uuid":"p1","properties":${properties}}`, person_uuid: 'p1' })],
    ] as const)
      db.transaction(() => prepareWriteRows(db, dataset)({ rows: [row], quarantined: [], at }, 1))();
  };
  const publish = (kind: 'full' | 'delta', settings: Settings = world.settings) =>
    exportAll(world, kind, settings, ['persons', 'recordings', 'distinct_ids', 'deletions']);
  show({});
  await publish('full');
  show({ passport: 'SECRET-7' });
  await publish('delta');
  await publish('full');
  expect(await isPublished(dataDir, 'SECRET-7')).toEqual([]);
  expect(await isPublished(dataDir, 'passport')).toEqual([]);
  expect(await isPublished(dataDir, 'pro')).toContain('recordings');
  const { settings } = loadSettings({}, { set: [{ path: 'dataDir', value: dataDir }] });
  await publish('full', { ...settings, export: { ...settings.export, keep: 3 } });
  expect(await isPublished(dataDir, 'SECRET-7')).toEqual(['persons', 'recordings']);
  // As after a change of masks: the export after the next removes what shows more.
  await publish('full');
  await publish('full');
  expect(await isPublished(dataDir, 'SECRET-7')).toEqual([]);
});
