import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { emailKey } from '../../src/contract/email.ts';
import { locateEmails } from '../../src/snapshot/email-rows.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { snapshotFolder } from './paths.ts';
import { publishRows } from './publish-rows.ts';
import { personRow, recordingRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { signal } = new AbortController();

/** The keys of the rows that show one of these addresses. */
async function where(dataDir: string, emails: readonly string[], onlyUnnamed = false): Promise<string[]> {
  const found = await locateEmails(publishedFilesIn(dataDir), new Set(emails), { onlyUnnamed, signal });
  return found.map(({ person_uuid: uuid, recording_id: id }) => id ?? uuid ?? '').toSorted();
}

const withEmail = (key: string, email: unknown, more = {}) =>
  personRow(key, { properties: JSON.stringify({ ...more, email }) });

test.each([
  'ann@x.example',
  ' Ann@X.example ',
  'ann@x.example\n',
  '\u00a0ann@x.example',
  'Zo\u00cb@x.example',
  'zoe\u0308@x.example',
  'stra\u00dfe@x.example',
  '\u212a"im\\"@x.example',
])('a row that shows %j is found by its key alone', async (email) => {
  const dataDir = temporaryFolder();
  const others = ['joann@x.example', 'ann@x.example.org', 'zoe@x.example', '', null, 7, ['ann@x.example']];
  const rows = others.map((other, index) => withEmail(`b${index}`, other));
  await publishRows(dataDir, 'persons', [withEmail('a', email), ...rows]);
  expect(await where(dataDir, [emailKey(email)])).toEqual(['a']);
});

test('every generation, persons and embedded persons are searched, the property of the person alone', async () => {
  const dataDir = temporaryFolder();
  const email = 'ann@x.example';
  await publishRows(dataDir, 'persons', [
    withEmail('a', email),
    withEmail('b', 'bob@x.example', { company: { email }, note: `{"email":"${email}"}` }),
    withEmail('c', 'bob@x.example', { first: { email: 'else' }, '"email":"': email }),
    withEmail('d', email, { company: { email: 'office@x.example' }, odd: '\ud800' }),
    personRow('e', { properties: null }),
  ]);
  await publishRows(dataDir, 'persons', [withEmail('a', 'new@x.example')]);
  const person = (properties: unknown) => JSON.stringify({ name: 'Ann', properties });
  await publishRows(dataDir, 'recordings', [
    recordingRow('r1', { person: person({ email }) }),
    recordingRow('r2', { person: person({ email: 'bob@x.example' }), start_url: email }),
    recordingRow('r3', { person: person({ email, odd: '\udfff' }), person_uuid: null }),
    recordingRow('r4', { person: null, person_uuid: null }),
  ]);
  expect(await where(dataDir, [email])).toEqual(['a', 'd', 'r1', 'r3']);
  expect(await where(dataDir, [email, 'new@x.example'])).toEqual(['a', 'a', 'd', 'r1', 'r3']);
  expect(await where(dataDir, [email], true)).toEqual(['r3']);
  expect(await where(dataDir, [])).toEqual([]);
});

test('a file that is missing stops the search', async () => {
  const dataDir = temporaryFolder();
  const id = await publishRows(dataDir, 'persons', [withEmail('a', 'ann@x.example')]);
  rmSync(join(snapshotFolder(dataDir, 'persons', id), 'part-00001.parquet'));
  await expect(where(dataDir, ['bob@x.example'])).rejects.toMatchObject({ code: 'storage' });
});
