import { expect, it } from 'vitest';
import { prepareQuarantine } from '../../src/mirror/quarantine.ts';
import { startPass } from '../../src/mirror/passes.ts';
import { openTestMirror } from './open-test-mirror.ts';

const at = '2026-01-01T12:00:00Z';

function world() {
  const { db } = openTestMirror();
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  const open = () => prepareQuarantine(db, 'persons');
  const held = (): unknown => db.prepare(`SELECT count(*) FROM quarantine`).pluck().get();
  return { db, passId, open, held };
}

it('keeps ten thousand rows of a list and no more; a row that is there already may change, and one that leaves makes room', () => {
  const { db, passId, open, held } = world();
  const row = (number: number) => ({ key: `key-${number}`, reason: 'x', payload: '{}' });
  const quarantine = open();
  const fill = db.transaction(() =>
    Array.from({ length: 10_000 }, (_row, number) => quarantine.add(row(number), passId, at)),
  );
  expect(fill()).not.toContain(false);
  for (const each of [quarantine, open()]) {
    expect(each.add(row(10_000), passId, at)).toBe(false);
    expect(each.add({ ...row(1), payload: '{"a":1}' }, passId, at)).toBe(true);
  }
  expect(held()).toBe(10_000);
  quarantine.release('key-5');
  expect(quarantine.add(row(10_000), passId, at)).toBe(true);
  expect(held()).toBe(10_000);
});

it('forgets what earlier passes have shown where a row has no room, once for a pass', () => {
  const { db, passId, open, held } = world();
  const row = (number: number) => ({ key: null, reason: 'x', payload: `{"number":${number}}` });
  const fill = db.transaction((quarantine: ReturnType<typeof open>, from: number, to: number, pass: number) =>
    Array.from({ length: to - from }, (_row, number) => quarantine.add(row(from + number), pass, at)),
  );
  fill(open(), 0, 10_000, passId);
  const quarantine = open();
  // Shown again, 1 is of this pass.
  expect(fill(quarantine, 1, 2, passId + 1)).toEqual([true]);
  expect(fill(quarantine, 10_000, 10_001, passId + 1)).toEqual([true]);
  expect(held()).toBe(2);
  expect(fill(quarantine, 20_000, 29_998, passId + 1)).not.toContain(false);
  expect(fill(quarantine, 30_000, 30_002, passId + 1)).toEqual([false, false]);
  expect(held()).toBe(10_000);
});

it('keeps 64 MiB of payloads of a list and no more', () => {
  const { passId, open, held } = world();
  const row = (number: number, characters: number) => ({
    key: `key-${number}`,
    reason: 'x',
    payload: 'ü'.repeat(characters),
  });
  const quarantine = open();
  const added = Array.from({ length: 70 }, (_row, number) => quarantine.add(row(number, 2 ** 19), passId, at));
  expect(added.filter(Boolean)).toHaveLength(64);
  expect(open().add(row(100, 1), passId, at)).toBe(false);
  // In the place of a larger one, it fits.
  expect(open().add(row(1, 5), passId, at)).toBe(true);
  expect(open().add(row(100, 1), passId, at)).toBe(true);
  expect(held()).toBe(65);
});
