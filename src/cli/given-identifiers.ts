import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { AppError, systemCode } from '../core/errors.ts';
import type { GivenIdentifier } from '../erasure/request/box.ts';

/** The form of each kind of identifier. */
const kinds = {
  uuid: z.guid().transform((value) => value.toLowerCase()),
  id: z.string().regex(/^\d{1,19}$/, 'is a number'),
  distinct_id: z.string().min(1).max(1000),
  email: z
    .string()
    .max(1000)
    .regex(/^[^\s@]+@[^\s@]+$/, 'is an e-mail address'),
} as const;

type GivenOptions = { uuid?: string[]; id?: string[]; distinctId?: string[]; email?: string[]; file?: string };

/** Adds the options that name persons. */
export function addGivenOptions(command: Command): Command {
  const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value];
  return command
    .option('--uuid <uuid>', "a person's uuid; may be repeated", collect)
    .option('--id <id>', "a person's integer id; may be repeated", collect)
    .option('--distinct-id <id>', 'a distinct id; may be repeated', collect)
    .option('--email <address>', "an e-mail address among a person's properties; may be repeated", collect)
    .option('--file <file>', 'a CSV file of kind,value lines (- is standard input)');
}

/**
 * The identifiers that a command was given: by options, by a file, or by standard input. Throws `usage` that names every
 * line that cannot be read, never its content. An empty list when nothing was given.
 */
export async function readGiven(options: GivenOptions, source: string | undefined): Promise<GivenIdentifier[]> {
  const { file = source } = options;
  const ofOption = (kind: string, values: readonly string[] = []): GivenRow[] =>
    values.map((value) => ({ where: `--${kind.replace('_', '-')}`, kind, value }));
  const rows = [
    ...ofOption('uuid', options.uuid),
    ...ofOption('id', options.id),
    ...ofOption('distinct_id', options.distinctId),
    ...ofOption('email', options.email),
    ...(file === undefined ? [] : parseRows(await readText(file))),
  ];
  const problems: string[] = [];
  const given = rows.flatMap((row): GivenIdentifier[] => {
    const kind = row.kind.trim().toLowerCase().replace('-', '_') as keyof typeof kinds;
    const parsed = Object.hasOwn(kinds, kind) ? kinds[kind].safeParse(row.value.trim()) : undefined;
    if (parsed?.success) return [{ kind, value: parsed.data }];
    problems.push(
      parsed === undefined
        ? `${row.where}: its kind is none of ${Object.keys(kinds).join(', ')}`
        : `${row.where}: its value is no ${kind}`,
    );
    return [];
  });
  if (problems.length > 0)
    throw new AppError(
      `${problems.length} of ${rows.length} identifiers cannot be read:\n${problems
        .slice(0, 20)
        .map((problem) => `  ${problem}`)
        .join('\n')}`,
      { code: 'usage', hint: 'write a line for each, as kind,value; nothing was done' },
    );
  return given;
}

/** The identifiers that a command was given. Throws as `readGiven` does, and `usage` when nothing was given. */
export async function requireGiven(options: GivenOptions, source: string | undefined): Promise<GivenIdentifier[]> {
  const given = await readGiven(options, source);
  if (given.length > 0) return given;
  throw new AppError('no person is named', {
    code: 'usage',
    hint: 'name each person with --file, - (standard input), --uuid, --id, --distinct-id or --email',
  });
}

async function readText(file: string): Promise<string> {
  if (file === '-') return (await buffer(process.stdin)).toString('utf8');
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new AppError(`cannot read the file of identifiers (${systemCode(error) ?? 'unknown'})`, {
      code: 'usage',
      hint: 'name a CSV file of kind,value lines, or - for standard input',
    });
  }
}

/** An identifier as it was given, and where, without its content. */
type GivenRow = { where: string; kind: string; value: string };

/** The rows of a CSV text, without its header line. */
function parseRows(text: string): GivenRow[] {
  const rows: { record: string[]; line: number }[] = [];
  try {
    parse(text, {
      bom: true,
      skip_empty_lines: true,
      relax_column_count: true,
      on_record: (record: string[], { lines: line }) => void rows.push({ record, line }),
    });
  } catch (error) {
    // The parser's message quotes the text.
    const line = error instanceof CsvError && typeof error['lines'] === 'number' ? ` (line ${error['lines']})` : '';
    throw new AppError(`the identifiers are not CSV${line}`, {
      code: 'usage',
      hint: 'put values that hold commas or quotes in double quotes',
    });
  }
  const isHeader = rows[0]?.record[0]?.trim().toLowerCase() === 'kind';
  return rows
    .slice(isHeader ? 1 : 0)
    .map(({ record: [kind = '', value = '', ...rest], line }) => ({
      where: `line ${line}`,
      kind,
      value: rest.length === 0 ? value : '',
    }));
}
