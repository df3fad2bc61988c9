import { expect, test } from 'vitest';
import { identityOf, nobody } from '../../../src/contract/identity.ts';
import { createFindings, readTask, taskLines, type ScanOrder } from '../../../src/erasure/scan/scan-task.ts';

const many = Array.from({ length: 2500 }, (_, n) => `rec ${n}`);
const subjects = [
  { request: 'large', identity: { ...nobody, person_uuid: ['u'], recording_id: many }, values: ['a\nb'] },
  {
    request: 'odd',
    identity: { ...nobody, distinct_id: ['a\u2028b', 'c\u2029', '\r\n', '"\\', '', 'š\ud800', '\u00ff', '\0'] },
    values: [],
  },
  { request: 'nobody', identity: nobody, values: [] },
];
const around = { dataDir: '/data', phase: 'verify', fence: false, extraPaths: [] } as const;
const task: ScanOrder = {
  ...around,
  // The identifiers of the first come in parts.
  subjects: subjects.map(({ identity, ...subject }) => ({
    ...subject,
    identities: [identityOf((kind) => identity[kind].slice(0, 1500)), identityOf((kind) => identity[kind].slice(1500))],
  })),
};

async function* given(lines: Iterable<string>): AsyncGenerator<string> {
  yield* lines;
}

test('a task with many identifiers comes in short lines, and is read as it was', async () => {
  const lines = [...taskLines(task)];
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(20_000);
  // A reader of lines may end them at any of these.
  expect(lines.filter((line) => /[\r\u2028\u2029]|\n./.test(line))).toEqual([]);
  const read = await readTask(given(lines));
  const unpacked = read.subjects.map(({ identity, ...subject }) => ({
    ...subject,
    identity: identityOf((kind) => [...identity[kind]]),
  }));
  expect({ ...read, subjects: unpacked }).toEqual({ ...around, subjects });
});

test('a task of which a part is missing is none: a scan for less would prove nothing', async () => {
  const lines = [...taskLines(task)];
  for (const [left] of lines.entries())
    await expect(readTask(given(lines.filter((_line, index) => index !== left)))).rejects.toThrow(
      /not a whole task|invalid/i,
    );
  await expect(readTask(given([]))).rejects.toThrow('not a whole task');
});

test('a report of thousands of subjects in thousands of places stays readable, and counts every hit', () => {
  const findings = createFindings(Array.from({ length: 3000 }, (_, subject) => `request ${subject}`));
  for (let subject = 0; subject < 3000; subject += 1)
    for (let place = 0; place < 100; place += 1)
      findings.addDecoded(subject, `snapshots/persons/${place}.parquet:name`);
  for (let n = 0; n < 150_000; n += 1) findings.addUnreadable(`extra/${n}`, 'EACCES');
  const { subjects, unreadable } = findings.found((place) => place);
  expect(subjects.every(({ hits }) => hits === 100)).toBe(true);
  expect(subjects.reduce((sum, { places }) => sum + places.length, 0)).toBe(100_000);
  expect(unreadable).toHaveLength(100_000);
});

test('what lies outside of the data folder is found, and is not said to be found there', () => {
  const findings = createFindings(['both', 'elsewhere', 'nowhere']);
  for (const place of ['mirror.db:persons', '/var/log/app.log']) findings.addDecoded(0, place);
  findings.addRaw(1, '/exports/(a name)/app.log', 'utf-8', 1);
  findings.addFenced('/exports/persons.json', 'person_uuid', ['sealed']);
  findings.addFenced('snapshots/persons.json', 'person_uuid', ['sealed here']);
  const { subjects, fenced, foundHere } = findings.found((place) => place);
  expect(subjects.map(({ hits }) => hits)).toEqual([2, 1, 0]);
  expect(fenced).toHaveLength(2);
  expect(foundHere).toEqual(['both', 'sealed here']);
});
