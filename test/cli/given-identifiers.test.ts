import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readGiven } from '../../src/cli/given-identifiers.ts';
import type { GivenIdentifier } from '../../src/erasure/request/box.ts';
import { AppError } from '../../src/core/errors.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const uuid = '0190aaaa-1111-7222-8333-00000000000a';

function inFile(text: string | Buffer): Promise<GivenIdentifier[]> {
  const file = join(freshFolder(), 'people.csv');
  writeFileSync(file, text);
  return readGiven({ file }, undefined);
}

async function refusal(text: string | Buffer): Promise<AppError> {
  const error = await inFile(text).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw new Error('it was read');
  return error;
}

describe('identifiers are read', () => {
  it('a line each, of any kind', async () => {
    expect(await inFile(`uuid,${uuid.toUpperCase()}\nid,7\ndistinct_id,ann\nemail,Ann@x.example\n`)).toEqual([
      { kind: 'uuid', value: uuid },
      { kind: 'id', value: '7' },
      { kind: 'distinct_id', value: 'ann' },
      { kind: 'email', value: 'Ann@x.example' },
    ]);
  });

  it.each<[string, string, string[]]>([
    ['below a header', 'kind,value\ndistinct_id,ann', ['ann']],
    ['below a header in capitals, after a byte order mark', '\uFEFFKind,Value\ndistinct_id,ann', ['ann']],
    ['with empty lines and Windows line ends', '\r\ndistinct_id,ann\r\n\r\ndistinct_id,bob\r\n', ['ann', 'bob']],
    ['within quotes, with commas, quotes and line ends', 'distinct_id,"a,""b""\nc"', ['a,"b"\nc']],
    ['whatever the case of the kind, with a dash too', 'Distinct-ID, ann ', ['ann']],
    ['that look like a header further down', 'distinct_id,kind', ['kind']],
    ['beyond ASCII', 'distinct_id,änn🦤', ['änn🦤']],
  ])('%s', async (_how, text, values) => {
    expect((await inFile(text)).map(({ value }) => value)).toEqual(values);
  });

  it('from options, and then from a file', async () => {
    const file = join(freshFolder(), 'people.csv');
    writeFileSync(file, 'id,8');
    expect(await readGiven({ uuid: [uuid], id: ['7'], distinctId: ['a,b'], email: ['a@b'], file }, undefined)).toEqual([
      { kind: 'uuid', value: uuid },
      { kind: 'id', value: '7' },
      { kind: 'distinct_id', value: 'a,b' },
      { kind: 'email', value: 'a@b' },
      { kind: 'id', value: '8' },
    ]);
  });

  it('as none, when none are given', async () => {
    expect(await readGiven({}, undefined)).toEqual([]);
    expect(await inFile('')).toEqual([]);
    expect(await inFile('kind,value\n')).toEqual([]);
  });
});

describe('lines that cannot be read', () => {
  it('are all named by their number, none by its content', async () => {
    const text = `kind,value
distinct_id,good
phone,secret-1
uuid,secret-2
id,secret-3
email,secret-4
distinct_id,
email,a@b,secret-5
secret-6`;
    const { code, message } = await refusal(text);
    expect(code).toBe('usage');
    expect(message).toBe(`7 of 8 identifiers cannot be read:
  line 3: its kind is none of uuid, id, distinct_id, email
  line 4: its value is no uuid
  line 5: its value is no id
  line 6: its value is no email
  line 7: its value is no distinct_id
  line 8: its value is no email
  line 9: its kind is none of uuid, id, distinct_id, email`);
  });

  it('are counted in the file, whatever stands before them', async () => {
    expect((await refusal('\n\ndistinct_id,"a\nb"\nid,secret')).message).toContain('line 5:');
  });

  it('are named up to twenty', async () => {
    const { message } = await refusal('id,secret\n'.repeat(500));
    expect(message).toContain('500 of 500');
    expect(message.split('\n')).toHaveLength(21);
  });

  it.each<[string, string]>([
    ['a quote that is never closed', 'distinct_id,ann\nemail,"secret@x.example\n'],
    ['a quote within a value', 'distinct_id,ann\nemail,sec"ret@x.example\n'],
  ])('%s is no CSV, and the error does not quote it', async (_what, text) => {
    const { code, message, cause } = await refusal(text);
    expect(code).toBe('usage');
    expect(message).toMatch(/not CSV \(line \d+\)/);
    expect(`${message} ${String(cause)}`).not.toMatch(/sec/);
  });

  it('are those of a file that is not there', async () => {
    await expect(readGiven({ file: join(freshFolder(), 'secret.csv') }, undefined)).rejects.toThrow(
      'cannot read the file of identifiers (ENOENT)',
    );
  });
});
