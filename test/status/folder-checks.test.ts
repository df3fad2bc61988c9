import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { Columns } from '../../src/contract/tolerant-reader.ts';
import { maskKeyCheck } from '../../src/export/masks.ts';
import { finishPass, noEvidence, startPass } from '../../src/mirror/passes.ts';
import type { QuarantinedRow } from '../../src/mirror/quarantine.ts';
import { preparePageCommit } from '../mirror/commit-page.ts';
import { catalogueProperties } from '../../src/mirror/properties.ts';
import { prepareWriteRows } from '../../src/mirror/write-rows.ts';
import { checkDisk, checkMaskKey, checkPasses, checkProperties } from '../../src/status/folder-checks.ts';
import { exportDataset, exportRequest } from '../export/export-fixture.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { personRow } from '../snapshot/rows.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

test.runIf(process.platform === 'linux')('a data folder on a network file system is a warning', () => {
  const settings = settingsWith({ dataDir: temporaryFolder() });
  const [nfs, smb, ext4] = [0x6969, 0xff534d42, 0xef53];
  for (const type of [nfs, smb])
    expect(checkDisk(settings, type)).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/ free, on a network file system$/),
    });
  for (const found of [checkDisk(settings, ext4), checkDisk(settings)]) expect(found).toMatch(/ free$/);
});

test('a key that is missing, or another one than the published hashes were made under, is told', async () => {
  const dataDir = temporaryFolder();
  expect(checkMaskKey(dataDir)).toBe('no hash is published yet');
  const mask = [{ property: 'email', how: 'hash' as const }];
  await exportDataset(
    exportRequest(dataDir, {
      dataset: 'persons',
      rows: [],
      settings: { partRows: 4, keep: 2, promote: [], mask, dataDir },
    }),
  );
  expect(maskKeyCheck(dataDir)).toMatch(/^[0-9a-f]{32}$/);
  expect(checkMaskKey(dataDir)).toBe('the published hashes are those of keys/mask.key');
  const key = join(dataDir, 'keys/mask.key');
  writeFileSync(key, `${'22'.repeat(32)}\n`);
  expect(() => checkMaskKey(dataDir)).toThrow('keys/mask.key is another key than');
  rmSync(key);
  expect(() => checkMaskKey(dataDir)).toThrow('keys/mask.key is missing');
  // The check has made no other one.
  expect(maskKeyCheck(dataDir)).toBeUndefined();
  writeFileSync(key, 'torn');
  expect(() => checkMaskKey(dataDir)).toThrow('is damaged');
});

test('properties that look like an address, a phone number or a card are named where they are published as they are', async () => {
  const { db } = openTestMirror();
  const properties = JSON.stringify({
    'e\nmail': 'ann@example.com',
    phone: '+41 44 123 45 67',
    paid: '4111 1111 1111 1111',
    plan: 'pro',
    home: { street: 'Gasse 1' },
  });
  const row: Columns = { ...personRow('p1', { properties }) };
  db.transaction(() =>
    prepareWriteRows(db, 'persons')({ rows: [row], quarantined: [], at: '2026-01-01T00:00:00Z' }, 1),
  )();
  await catalogueProperties(db, { at: '2026-01-01T00:00:00Z', meant: 'all', signal: new AbortController().signal });
  const settings = settingsWith({});
  const check = (own: Partial<Settings['export']>): unknown => checkProperties(db, { ...settings.export, ...own });
  const detail = `5 properties of 5 may be published; look at e mail (an address), paid (a payment card), phone (a phone number)`;
  expect(check({})).toEqual({ state: 'warning', detail, fix: 'name in `export.mask` what readers do not need' });
  expect(check({ mask: ['paid', { property: 'phone', how: 'hash' }, 'e\nmail'] })).toBe(
    '2 properties of 5 may be published',
  );
  expect(check({ properties: 'listed' })).toBe('0 properties of 5 may be published');
  expect(
    check({ properties: 'listed', promote: ['phone', { property: 'home.street', as: 'street', type: 'string' }] }),
  ).toBe('2 properties of 5 may be published; look at phone (a phone number)');
});

test('persons with as many distinct ids as a list shows are told: they may have more', () => {
  const { db } = openTestMirror();
  const write = (name: string, count: number): void => {
    const distinct_ids = JSON.stringify(Array.from({ length: count }, (_id, index) => `${name}-${index}`));
    const row: Columns = { ...personRow(name, { distinct_ids }) };
    db.transaction(() =>
      prepareWriteRows(db, 'persons')({ rows: [row], quarantined: [], at: '2026-01-01T00:00:00Z' }, 1),
    )();
  };
  write('p1', 999);
  expect(checkPasses(db)).toMatch(/^no full pass/);
  write('p2', 1000);
  expect(checkPasses(db)).toMatchObject({
    state: 'warning',
    detail: '1 person is listed with 1,000 distinct ids: more are not shown, and not mirrored',
  });
});

test('rows that the last full pass could not read are told: they are as before, or missing', () => {
  const { db } = openTestMirror();
  const at = '2026-01-01T00:00:00.000Z';
  const end = (quarantined: QuarantinedRow[]): unknown => {
    const passId = startPass(db, { dataset: 'recordings', mode: 'full', plan: '{}', at });
    preparePageCommit(db, 'recordings', passId)({ rows: [], quarantined, at }, noEvidence);
    finishPass(db, passId, null, at);
    return checkPasses(db);
  };
  expect(end([{ key: 'r1', reason: 'click_count', payload: '{}' }])).toMatchObject({
    state: 'warning',
    detail: 'the last full pass of recordings could not read 1 row: as before, or missing',
  });
  expect(end([])).toMatch(/^the last full passes showed persons whole/);
});
