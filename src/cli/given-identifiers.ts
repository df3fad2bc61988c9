import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { CsvError, parse } from 'csv-parse/sync';
import { trimBlanks } from '../contract/email.ts';
import { identifierForms as kinds } from '../contract/given-identifier.ts';
import { type AppError, systemCode, usageError } from '../core/errors.ts';
import type { GivenIdentifier } from '../erasure/request/box.ts';

/** The options that name persons, as they were given. */
export type GivenOptions = {
  uuid?: string[];
  id?: string[];
  distinctId?: string[];
  email?: string[];
  file?: string;
  keepBlanks?: boolean;
};

/** Adds the value of an option that may be repeated to those before it. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

/** Adds the options that name persons. */
export function addGivenOptions(command: Command): Command {
  return command
    .option('--uuid <uuid>', "a person's uuid; may be repeated", collect)
    .option('--id <id>', "a person's integer id; may be repeated", collect)
    .option('--distinct-id <id>', 'a distinct id; may be repeated', collect)
    .option('--email <address>', "an e-mail address among a person's properties; may be repeated", collect)
    .option('--file <file>', 'a CSV file of kind,value lines, in UTF-8 (- is standard input)')
    .option('--keep-blanks', 'a blank at an edge of a distinct id belongs to it');
}

/**
 * The identifiers that a command was given: by options, by a file, or by standard input. A uuid, an integer id and an e-mail
 * address lose the blanks at their edges. A distinct id is taken byte for byte: blanks at its edges have to be confirmed.
 * Throws `usage` that names every line that cannot be read, never its content. An empty list when nothing was given.
 */
export async function readGiven(options: GivenOptions, source: string | undefined): Promise<GivenIdentifier[]> {
  const { file = source } = options;
  const ofOption = (kind: string, values: readonly string[] = []): GivenRow[] =>
    values.map((value) => ({ where: `--${kind.replace('_', '-')}`, kind, value, fields: 2 }));
  const fromOptions = [
    ...ofOption('uuid', options.uuid),
    ...ofOption('id', options.id),
    ...ofOption('distinct_id', options.distinctId),
    ...ofOption('email', options.email),
  ];
  const rows = [...fromOptions, ...(file === undefined ? [] : parseRows(decodeIdentifiers(await readBytes(file))))];
  refuseOtherTables(rows);
  const problems: string[] = [];
  const blanks: string[] = [];
  const given = rows.flatMap((row): GivenIdentifier[] => {
    const { where, value } = row;
    const kind = kindOf(row);
    const parsed = kind && kinds[kind].safeParse(kind === 'distinct_id' ? value : trimBlanks(value));
    if (!kind) problems.push(`${where}: its kind is none of ${Object.keys(kinds).join(', ')}`);
    else if (!parsed?.success)
      problems.push(`${where}: its value is no ${kind}${kind === 'email' ? '; write the bare address' : ''}`);
    // Node puts this character where an argument is not UTF-8: it may stand for any other.
    else if (fromOptions.includes(row) && value.includes('\ufffd'))
      problems.push(`${where}: its value is not UTF-8; write it into a file`);
    else if (kind === 'distinct_id' && trimBlanks(value) !== value && options.keepBlanks !== true) blanks.push(where);
    else return [{ kind, value: parsed.data }];
    return [];
  });
  if (problems.length > 0)
    throw usageError(
      `${problems.length} of ${rows.length} identifiers cannot be read:\n${listed(problems)}`,
      'write a line for each, as kind,value; nothing was done',
    );
  if (blanks.length > 0)
    throw usageError(
      `${blanks.length} of ${rows.length} identifiers are distinct ids that begin or end with a blank:\n${listed(blanks)}`,
      'with the blank, a distinct id is another one: remove the blanks there, or add --keep-blanks if they belong to the distinct ids; nothing was done',
    );
  return given;
}

/** Throws `usage` for what no line says the kind of: people have lists of addresses, and tables with other columns. */
function refuseOtherTables(rows: readonly GivenRow[]): void {
  const isColumn = rows.length > 0 && rows.every(({ fields }) => fields === 1);
  const hasKind = (row: GivenRow, index: number): boolean => {
    const kind = row.fields === 2 ? kindOf(row) : undefined;
    // The first line may be a header: `email,name`.
    return kind !== undefined && (index > 0 || kinds[kind].safeParse(row.value).success);
  };
  if ((!isColumn && rows.length < 2) || rows.some(hasKind)) return;
  const addresses = rows.filter(({ kind }) => kinds.email.safeParse(trimBlanks(kind)).success);
  // A header may stand above them.
  const isOfAddresses = isColumn && addresses.length > 0 && addresses.length >= rows.length - 1;
  const form = isOfAddresses
    ? 'a column of e-mail addresses'
    : isColumn
      ? 'one column of a spreadsheet'
      : 'a table of a spreadsheet';
  throw usageError(
    `the identifiers are not lines of kind,value (${Object.keys(kinds).join(', ')}): they look like ${form}`,
    isOfAddresses
      ? 'write email, before each address, and leave a header out; nothing was done'
      : 'write a line for each person, as kind,value, such as email,ann@example.com; nothing was done',
  );
}

function kindOf({ kind }: GivenRow): keyof typeof kinds | undefined {
  const name = kind.trim().toLowerCase().replace('-', '_');
  return Object.hasOwn(kinds, name) ? (name as keyof typeof kinds) : undefined;
}

function listed(lines: readonly string[]): string {
  return lines
    .slice(0, 20)
    .map((line) => `  ${line}`)
    .join('\n');
}

/** The identifiers that a command was given. Throws as `readGiven` does, and `usage` when nothing was given. */
export async function requireGiven(options: GivenOptions, source: string | undefined): Promise<GivenIdentifier[]> {
  const given = await readGiven(options, source);
  if (given.length > 0) return given;
  throw usageError(
    'no person is named',
    'name each person with --file, - (standard input), --uuid, --id, --distinct-id or --email',
  );
}

async function readBytes(file: string): Promise<Buffer> {
  if (file === '-') return buffer(process.stdin);
  try {
    return readFileSync(file);
  } catch (error) {
    throw usageError(
      `cannot read the file of identifiers: ${resolve(file)} (${systemCode(error) ?? 'unknown'})`,
      'name a CSV file of kind,value lines, or - for standard input',
    );
  }
}

/** How the files of spreadsheets begin: as archives (.xlsx, .ods), or as older ones do (.xls). */
const spreadsheetMarks = [Buffer.from('PK\x03\x04'), Buffer.from([0xd0, 0xcf, 0x11, 0xe0])];

/** The byte order marks of the encodings that are read where the mark says so. The decoder takes that of UTF-8 away. */
const marks = [
  { bytes: Buffer.from([0xff, 0xfe]), encoding: 'utf-16le' },
  { bytes: Buffer.from([0xfe, 0xff]), encoding: 'utf-16be' },
];

/**
 * The text of a file of identifiers: UTF-8, or UTF-16 with a byte order mark. Throws `usage` for every other encoding, and
 * names the one that it seems to be: a letter that is read wrongly makes another identifier.
 */
function decodeIdentifiers(bytes: Buffer): string {
  if (spreadsheetMarks.some((mark) => bytes.indexOf(mark) === 0)) throw wrongEncoding('a spreadsheet, and no CSV');
  const { encoding = 'utf-8', bytes: mark } = marks.find((one) => bytes.indexOf(one.bytes) === 0) ?? {};
  // The first letters of a kind are ASCII, so that the null bytes beside them tell the width of a letter.
  const nulls = [...bytes.subarray(0, 4)].filter((byte) => byte === 0).length;
  if (nulls > 2 || (nulls === 2 && (mark || bytes[0] === bytes[1]))) throw wrongEncoding('in UTF-32');
  if (nulls === 2) throw wrongEncoding('in UTF-16 without a byte order mark');
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    if (encoding !== 'utf-8') throw wrongEncoding('damaged UTF-16');
    const lines = bytes.toString('latin1').split(/\r\n|\r|\n/);
    const fault = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1;
    throw wrongEncoding(`not UTF-8 from line ${fault} on: they seem to be Latin-1, Windows-1252 or the like`);
  }
}

function wrongEncoding(found: string): AppError {
  return usageError(
    `the identifiers are ${found}`,
    'save the file as UTF-8 (in a spreadsheet: CSV UTF-8, separated by commas); nothing was done',
  );
}

/** A first field that a kind and another separator than a comma begin. */
const separated = /^\s*(?:kind|uuid|id|distinct[_-]id|email)\s*([;\t|])/i;

/** An identifier as it was given, and where; `fields`: of its line. */
type GivenRow = { where: string; kind: string; value: string; fields: number };

/** The rows of a CSV text, without its header line. Throws `usage` for what is no CSV with commas. */
function parseRows(text: string): GivenRow[] {
  const rows: { record: string[]; line: number }[] = [];
  try {
    parse(text, {
      skip_empty_lines: true,
      relax_column_count: true,
      on_record: (record: string[], { lines: line }) => void rows.push({ record, line }),
    });
  } catch (error) {
    // The parser's message quotes the text.
    const line = error instanceof CsvError && typeof error['lines'] === 'number' ? ` (line ${error['lines']})` : '';
    throw usageError(`the identifiers are not CSV${line}`, 'put values that hold commas or quotes in double quotes');
  }
  for (const { record, line } of rows) {
    const [, separator] = separated.exec(record[0] ?? '') ?? [];
    if (separator === undefined) continue;
    const found = separator === ';' ? 'semicolons' : separator === '|' ? 'bars' : 'tabs';
    throw usageError(
      `the identifiers are separated by ${found} (line ${line}), and commas are expected`,
      'save the file as CSV with commas, in UTF-8: a line for each, as kind,value; nothing was done',
    );
  }
  const isHeader = rows[0]?.record[0]?.trim().toLowerCase() === 'kind';
  return rows.slice(isHeader ? 1 : 0).map(({ record, line }) => {
    const [kind = '', value = ''] = record;
    return { where: `line ${line}`, kind, value: record.length === 2 ? value : '', fields: record.length };
  });
}
