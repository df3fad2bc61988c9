import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readGiven } from '../../src/cli/given-identifiers.ts';
import type { GivenIdentifier } from '../../src/erasure/request/box.ts';
import { AppError } from '../../src/core/errors.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const uuid = '0190aaaa-1111-7222-8333-00000000000a';

function inFile(text: string | Buffer, more: { keepBlanks?: boolean } = {}): Promise<GivenIdentifier[]> {
  const file = join(freshFolder(), 'people.csv');
  writeFileSync(file, text);
  return readGiven({ file, ...more }, undefined);
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
    ['an integer id without the zeros before it', 'id,0070\nid,0', ['70', '0']],
    ['below a header in capitals, after a byte order mark', '\uFEFFKind,Value\ndistinct_id,ann', ['ann']],
    ['with empty lines and Windows line ends', '\r\ndistinct_id,ann\r\n\r\ndistinct_id,bob\r\n', ['ann', 'bob']],
    ['within quotes, with commas, quotes and line ends', 'distinct_id,"a,""b""\nc"', ['a,"b"\nc']],
    ['whatever the case of the kind, with a dash too', ' Distinct-ID ,ann', ['ann']],
    [
      'with blanks at the edges, but for distinct ids',
      'email,\u00a0Ann@x.example\u2003\nid, 7\t',
      ['Ann@x.example', '7'],
    ],
    ['with a null character', 'distinct_id,a\0b', ['a\0b']],
    ['with semicolons and tabs inside of values', 'distinct_id,a;b\tc\ndistinct_id,email;a', ['a;b\tc', 'email;a']],
    ['with a replacement character that stands in the file', 'distinct_id,a\ufffdb', ['a\ufffdb']],
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
  line 6: its value is no email; write the bare address
  line 7: its value is no distinct_id
  line 8: its value is no email; write the bare address
  line 9: its kind is none of uuid, id, distinct_id, email`);
  });

  it('refuses an address in angle brackets, or with mailto: before it: nobody is found by that', async () => {
    for (const email of ['<secret@x.example>', 'mailto:secret@x.example', ' MailTo:secret@x.example'])
      await expect(readGiven({ email: [email] }, undefined)).rejects.toThrow(
        '--email: its value is no email; write the bare address',
      );
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

  it.each<[form: string, text: string | Buffer, hint: RegExp]>([
    ['a column of e-mail addresses', 'E-Mail\nsecret@x.example\nsecret@y.example\n', /^write email, before each/],
    ['a column of e-mail addresses', 'secret@x.example\n', /^write email, before each/],
    ['one column of a spreadsheet', 'Customer\nsecret 1\nsecret 2\n', /as kind,value/],
    ['a table of a spreadsheet', 'E-Mail,Name\nsecret@x.example,secret\n', /as kind,value/],
    ['a table of a spreadsheet', 'Email,Name\nsecret@x.example,secret\n', /as kind,value/],
    ['a table of a spreadsheet', 'Id,Name,E-Mail\n7,secret,secret@x.example\n', /as kind,value/],
    ['a spreadsheet, and no CSV', Buffer.from('PK\x03\x04\x14\0secret'), /in a spreadsheet: CSV UTF-8/],
  ])('look like %s', async (form, text, hint) => {
    const error = await refusal(text);
    expect(error).toMatchObject({ code: 'usage', hint: expect.stringMatching(hint) });
    expect(error.message).toContain(form);
    expect(error.message).not.toContain('secret');
  });

  it('are those of a file that is not there', async () => {
    const file = join(freshFolder(), 'secret.csv');
    await expect(readGiven({ file }, undefined)).rejects.toThrow(
      `cannot read the file of identifiers: ${file} (ENOENT)`,
    );
  });
});

describe('a distinct id is taken byte for byte', () => {
  const blanks = [' ', '\t', '\n', '\u0085', '\u00a0', '\u2003', '\u2028', '\u3000', '\ufeff'];
  const edges = blanks.flatMap((blank) => [`abc${blank}`, `${blank}abc`, blank]);

  it.each(edges)('%j is asked about, and never trimmed', async (value) => {
    const text = `distinct_id,secret\ndistinct_id,"${value}"\n`;
    const { code, message, hint } = await refusal(text);
    expect(code).toBe('usage');
    expect(message).toMatch(/^1 of 2 identifiers are distinct ids that begin or end with a blank:\n {2}line [23]$/);
    expect(hint).toContain('--keep-blanks');
    expect(message).not.toMatch(/abc|secret/);
    expect((await inFile(text, { keepBlanks: true })).map((each) => each.value)).toEqual(['secret', value]);
    const asOption = readGiven({ distinctId: [value] }, undefined);
    await expect(asOption).rejects.toThrow(/^1 of 1 .*\n {2}--distinct-id$/);
  });

  it('in any case and any form of Unicode', async () => {
    const forms = ['Abc', 'abc', '\u00e9', 'e\u0301', '\u200babc'];
    expect((await inFile(forms.map((value) => `distinct_id,${value}\n`).join(''))).map(({ value }) => value)).toEqual(
      forms,
    );
  });
});

describe('the encoding and the dialect of a file', () => {
  const text = 'kind,value\r\ndistinct_id,zo\u00eb\r\nemail,\u00d6zil@x.example\r\n';
  const values = ['zo\u00eb', '\u00d6zil@x.example'];
  const utf16 = Buffer.from(text, 'utf16le');
  const swapped = Buffer.from(utf16).swap16();
  const utf32 = Buffer.from([...text].flatMap((letter) => [letter.charCodeAt(0), 0, 0, 0]));

  it.each<[string, Buffer]>([
    ['UTF-8', Buffer.from(text)],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`)],
    ['UTF-16 with a byte order mark', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16])],
    ['UTF-16, the high byte first, with a byte order mark', Buffer.concat([Buffer.from([0xfe, 0xff]), swapped])],
  ])('%s is read', async (_what, bytes) => {
    expect((await inFile(bytes)).map(({ value }) => value)).toEqual(values);
  });

  it.each<[string, Buffer, string]>([
    [
      'Latin-1',
      Buffer.from(text, 'latin1'),
      'not UTF-8 from line 2 on: they seem to be Latin-1, Windows-1252 or the like',
    ],
    ['a letter that is cut off', Buffer.from('distinct_id,zo\u00eb').subarray(0, -1), 'not UTF-8 from line 1 on'],
    ['UTF-16', utf16, 'in UTF-16 without a byte order mark'],
    ['UTF-16, the high byte first', swapped, 'in UTF-16 without a byte order mark'],
    ['damaged UTF-16', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16.subarray(0, -1)]), 'damaged UTF-16'],
    ['UTF-32', utf32, 'in UTF-32'],
    ['UTF-32 with a byte order mark', Buffer.concat([Buffer.from([0xff, 0xfe, 0, 0]), utf32]), 'in UTF-32'],
  ])('%s is refused by its name', async (_what, bytes, found) => {
    const { code, message, hint } = await refusal(bytes);
    expect(code).toBe('usage');
    expect(message).toContain(`the identifiers are ${found}`);
    expect(hint).toContain('save the file as UTF-8');
  });

  it.each([
    ['semicolons', 'kind;value\ndistinct_id;secret\n', 1],
    ['semicolons', 'distinct_id;secret,secret\n', 1],
    ['tabs', '\ndistinct-id\tsecret\n', 2],
    ['bars', 'id,7\nEmail|secret@x.example\n', 2],
  ])('%s are refused as such', async (found, file, line) => {
    const { code, message } = await refusal(file);
    expect(code).toBe('usage');
    expect(message).toBe(`the identifiers are separated by ${found} (line ${line}), and commas are expected`);
  });

  it('an option that is not UTF-8 is refused', async () => {
    await expect(readGiven({ distinctId: ['zo\ufffd'] }, undefined)).rejects.toThrow(
      '--distinct-id: its value is not UTF-8',
    );
  });
});
