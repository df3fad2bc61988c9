import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { ask, askUntilRead } from '../../src/cli/ask.ts';
import { projectQuestion, readAddress, readPreset, readProjectId } from '../../src/cli/init-answers.ts';
import { presets } from '../../src/config/presets.ts';

const projects = [
  { id: '1', name: 'Sandbox' },
  { id: '7', name: 'My Project' },
  { id: '8', name: 'Twin' },
  { id: '9', name: 'twin' },
];
const seen = { projects, isWhole: true };

test.for([
  ['7', '7'],
  ['My Project', '7'],
  ['sandbox', '1'],
] as const)('a project is meant by its id or its name: %s', ([answer, id]) => {
  expect(readProjectId(answer, seen)).toBe(id);
});

test('a project that the key does not see is told with those that it sees, and one of two of a name with both', () => {
  expect(() => readProjectId('Sandbx', seen)).toThrow('the key sees 4 projects: 1 (Sandbox), 7 (My Project), 8');
  expect(() => readProjectId('', seen)).toThrow('the key sees 4 projects');
  expect(() => readProjectId('TWIN', seen)).toThrow('several projects are called so: 8 (Twin), 9 (twin)');
});

test('where the service names not all projects, an id is taken as it is', () => {
  expect(readProjectId('abc', null)).toBe('abc');
  expect(readProjectId('77', { projects, isWhole: false })).toBe('77');
  expect(() => readProjectId('', null)).toThrow('so the project has to be named');
  expect(() => readProjectId('', { projects: [], isWhole: true })).toThrow('the key sees no project');
  expect(projectQuestion({ projects: projects.slice(0, 1), isWhole: true })).toEqual({
    question: 'the project',
    suggestion: '1',
  });
});

test('a typing error in an answer is told, and the question comes again', async () => {
  const answers = ['posthog-ue', 'posthog-eu'];
  const said: string[] = [];
  const preset = await askUntilRead(
    () => Promise.resolve(answers.shift() ?? ''),
    readPreset,
    (text) => void said.push(text),
  );
  expect(preset).toBe(presets['posthog-eu']);
  expect(said).toEqual([expect.stringMatching(/^no service is called posthog-ue: choose one of posthog-us, /)]);
  expect(() => readAddress('eu.posthog.com')).toThrow('the address of the service is not a URL');
  await expect(
    askUntilRead(
      () => Promise.reject(new Error('interrupted')),
      readPreset,
      () => undefined,
    ),
  ).rejects.toThrow('interrupted');
});

test('a question that a person ends without an answer is interrupted', async () => {
  const signal = new AbortController().signal;
  const input = new PassThrough();
  const asked = ask('which', 'none', signal, input);
  input.end();
  await expect(asked).rejects.toMatchObject({ code: 'interrupted' });
  const answered = new PassThrough();
  const answer = ask('which', 'none', signal, answered);
  answered.write('eu\n');
  expect(await answer).toBe('eu');
});
