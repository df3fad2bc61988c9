import { expect, test } from 'vitest';
import { heldText, rowsText } from '../../src/cli/held-text.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

const persons: [uuid: string, name: string | null, properties: string, distinctIds: string][] = [
  ['u1', 'Ann', '{"email":"ann@x.example"}', '["a"]'],
  ['u2', 'bob@x.example', '{"email":"bob@x.example"}', '["b"]'],
  ['u3', null, '{}', '["device-7"]'],
];

test('whom a request names is shown by name and address, ten of them', () => {
  const { db } = openTestMirror();
  for (const given of persons)
    db.prepare(/*sql*/ `INSERT INTO persons (uuid, name, properties, distinct_ids, first_seen_pass, changed_at)
      VALUES (?, ?, ?, ?, 1, '2026-01-01T00:00:00Z')`).run(...given);
  const others = Array.from({ length: 9 }, (_, index) => `v${index}`);
  const held = { personsNamed: ['u3', 'u1', 'u2', ...others], sharedWith: ['u2'] };
  // In a pipe, nobody is named.
  expect(heldText('the request', held, db)).toBe(`the request names 12 persons:
${['u3', 'u1', 'u2', ...others.slice(0, 7)].map((uuid) => `  ${uuid}\n`).join('')}  and 2 more: --json has them all
the request shares an identifier with:
  u2
`);
  expect(heldText('line 1', { personsNamed: ['u1'], sharedWith: [] }, db)).toBe('');
});

test('a terminal shows names, a pipe shows ids', () => {
  const rows = [
    { key: 'u1', known: 'Ann, ann@x.example' },
    { key: 'u3', known: 'device-7' },
  ];
  expect(rowsText(rows, 2, true)).toBe('  id  known as\n  u1  Ann, ann@x.example\n  u3  device-7\n');
  expect(rowsText(rows, 1200, false)).toBe('  u1\n  u3\n  and 1,198 more: --json has them all\n');
});
