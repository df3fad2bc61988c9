import { z } from 'zod';
import { whyUnkept } from '../core/deep-json.ts';
import { AppError, assertNever } from '../core/errors.ts';
import { isJsonObject, isRawNumber, readJson } from '../core/exact-json.ts';
import { isoToUtc } from '../core/time.ts';
import { countText } from '../core/words.ts';
import { describeField, type FieldKind } from './resources.ts';

/** A value as SQLite keeps it: JSON and lists as JSON text, booleans as 0 and 1, times as UTC text. */
export type ColumnValue = string | number | bigint | null;

/** A row as the mirror's tables hold it, by column name. */
export type Columns = Record<string, ColumnValue>;

/** A row that was read: known fields as column values, and all other fields as JSON text in `extra`. */
type ReadRow = { ok: true; columns: Columns };
/** A row that could not be read: the reason, without personal data, and its key if that could be read. */
type UnreadableRow = { ok: false; key: string | null; reason: string };

/** Reads one row of a list, as a live service sends it. Never throws. */
export type RowReader = (row: unknown) => ReadRow | UnreadableRow;

/**
 * Derives a reader from a documented resource. A missing field becomes null, but the key is required. Unknown fields stay.
 * Integers are exact up to 64 bits, times keep all their digits. Rows whose every field is plain are read without zod, which
 * takes twice as long.
 */
export function tolerantReader(resource: z.ZodObject, keyField: string): RowReader {
  const fields = fieldsOf(resource);
  const known = new Set(fields.map(({ name }) => name));
  const readWithZod = zodReader(resource, keyField);
  return (row) => {
    if (!isJsonObject(row)) return readWithZod(row);
    const columns: Columns = {};
    let characters = 0;
    try {
      for (const { name, kind } of fields) {
        const value = name === keyField ? plainKey(kind, row[name]) : plainValue(kind, row[name]);
        if (value === undefined) return readWithZod(row);
        columns[name] = value;
        if (typeof value === 'string') characters += value.length;
      }
      const extra = unknownFields(row, known);
      columns['extra'] = extra;
      characters += extra?.length ?? 0;
    } catch {
      return readWithZod(row);
    }
    return characters <= rowCharactersMax ? { ok: true, columns } : readWithZod(row);
  };
}

type Field = { name: string; kind: FieldKind };

function fieldsOf(resource: z.ZodObject): Field[] {
  return Object.entries(resource.shape).map(([name, schema]) => ({ name, kind: describeField(schema).kind }));
}

const plainUuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/** The column of a key, as `plainValue`. */
function plainKey(kind: FieldKind, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (kind === 'uuid') return plainUuid.test(value) ? value : undefined;
  return value !== '' && value.length <= keyCharactersMax && isKeyText(value) ? value : undefined;
}

/** The column of a field that is as it mostly is; undefined for any other, which zod judges. */
function plainValue(kind: FieldKind, value: unknown): ColumnValue | undefined {
  if (value === undefined || value === null) return null;
  switch (kind) {
    case 'text':
      return typeof value === 'string' && value.isWellFormed() ? value : undefined;
    case 'uuid':
      return typeof value === 'string' && plainUuid.test(value) ? value : undefined;
    case 'integer':
    case 'integer_id':
      return Number.isSafeInteger(value) ? (value as number) : undefined;
    case 'real':
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? Number(value) : undefined;
    case 'time':
      return typeof value === 'string' ? isoToUtc(value) : undefined;
    case 'text_list':
      return isTextList(value) ? JSON.stringify(value) : undefined;
    case 'json':
      return JSON.stringify(value);
    default:
      return assertNever(kind);
  }
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item.isWellFormed());
}

/** A reader that judges every field with zod: what `tolerantReader` promises, in the way that is easiest to trust. */
export function zodReader(resource: z.ZodObject, keyField: string): RowReader {
  const fields = fieldsOf(resource);
  const known = new Set(fields.map(({ name }) => name));
  const keyText = z.string().min(1).max(keyCharactersMax).refine(isKeyText, 'not a key');
  const key = describeField(resource.shape[keyField]).kind === 'uuid' ? uuid : keyText;
  const tolerant = z.object(
    Object.fromEntries(fields.map(({ name, kind }) => [name, name === keyField ? key : tolerantKinds[kind].nullish()])),
  );
  const keyOf = (row: unknown): string | null =>
    typeof row === 'object' && row !== null ? (key.safeParse(Reflect.get(row, keyField)).data ?? null) : null;
  return (row) => {
    const parsed = tolerant.safeParse(row);
    if (!parsed.success) return { ok: false, key: keyOf(row), reason: reasonOf(parsed.error) };
    try {
      const columns: Columns = {};
      for (const { name, kind } of fields) columns[name] = columnValue(kind, parsed.data[name]);
      columns['extra'] = unknownFields(row as object, known);
      if (sizeOf(columns) <= rowCharactersMax) return { ok: true, columns };
      return { ok: false, key: keyOf(row), reason: `row: more than ${countText(rowCharactersMax)} characters` };
    } catch (error) {
      const why = whyUnkept(error);
      if (why === undefined) throw error;
      return { ok: false, key: keyOf(row), reason: `row: ${why}` };
    }
  };
}

/** A row of more characters is not stored: SQLite refuses ten times as much, and numbers are written longer than sent. */
const rowCharactersMax = 64 * 1024 * 1024;

function sizeOf(columns: Columns): number {
  return Object.values(columns).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
}

const wellFormed = z.string().refine((value) => value.isWellFormed(), 'not well-formed Unicode');
const int64 = z
  .custom<{ rawJSON: string }>((value) => isRawNumber(value) && /^-?\d+$/.test(value.rawJSON), 'not an integer')
  .transform((value) => BigInt(value.rawJSON))
  .refine((value) => BigInt.asIntN(64, value) === value, 'beyond a 64-bit integer');
const integer = z.union([z.int(), int64]);

const uuid = z.guid().transform((value) => value.toLowerCase());

const tolerantKinds: Record<FieldKind, z.ZodType> = {
  text: wellFormed,
  uuid,
  integer,
  // Some services send the uuid here. The integer is then unknown.
  integer_id: z.union([integer, z.guid().transform(() => null)]),
  real: z.union([
    z.number(),
    z
      .custom<{ rawJSON: string }>(isRawNumber, 'not a number')
      .transform((value) => Number(value.rawJSON))
      .refine(Number.isFinite, 'beyond a double'),
  ]),
  boolean: z.boolean(),
  time: z.string().transform((value, context) => {
    const utc = isoToUtc(value);
    if (utc === undefined) context.addIssue({ code: 'custom', message: 'not an ISO 8601 date-time' });
    return utc;
  }),
  text_list: z.union([z.array(wellFormed), wellFormed.transform((value) => [value])]),
  json: z.unknown(),
};

const keyCharactersMax = 1000;

/** Whether a text can be the key of a row: every engine can hold it. */
export function isKeyText(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}

function columnValue(kind: FieldKind, value: unknown): ColumnValue {
  if (value === undefined || value === null) return null;
  if (kind === 'boolean') return value === true ? 1 : 0;
  if (kind === 'json' || kind === 'text_list') return JSON.stringify(value);
  return value as ColumnValue;
}

/** The strings of a list's column; undefined where the value is not the JSON text of a list of strings. */
export function textListOf(value: ColumnValue | undefined): string[] | undefined {
  if (typeof value !== 'string') return undefined;
  const items = readJson(value);
  return Array.isArray(items) && items.every((item) => typeof item === 'string') ? items : undefined;
}

// Reads the row as it was sent: zod drops a field named `__proto__`, and an assignment would set the prototype.
function unknownFields(row: object, known: ReadonlySet<string>): string | null {
  const names = Object.keys(row).filter((name) => !known.has(name));
  if (names.length === 0) return null;
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, Reflect.get(row, name)])));
}

/** The paths of the wrong fields and zod's messages, which name types and rules, never a value. */
function reasonOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 5)
    .map((issue) => `${issue.path.map(String).join('.') || 'row'}: ${issue.message}`)
    .join('; ');
}

/** One page of a list. Live services always send its rows, and may leave out the rest. */
const Envelope = z.object({
  results: z.custom<readonly unknown[]>(Array.isArray),
  next: z.string().nullish(),
  has_next: z.boolean().nullish(),
  count: z.int().nullish(),
});
export type Envelope = z.infer<typeof Envelope>;

/**
 * The envelope of a page. Throws `service` for an answer that is not a page of a list, and for one of more than `rowsMax`
 * rows, the most that were asked for.
 */
export function readEnvelope(body: unknown, rowsMax: number): Envelope {
  const envelope = Envelope.safeParse(body);
  const rows = envelope.data?.results.length ?? 0;
  if (rows > rowsMax)
    throw new AppError(
      `the service answered with ${countText(rows)} rows, though at most ${countText(rowsMax)} were asked for`,
      {
        code: 'service',
        finding: 'too_many_rows',
        hint: 'nothing was taken from the answer; if the service always sends so many, ask for as many (persons.pageSize, recordings.pageSize)',
      },
    );
  if (envelope.success) return envelope.data;
  throw new AppError('the service answered with something that is not a page of a list', {
    code: 'service',
    hint: 'check service.baseUrl and service.pathPrefix; nothing was taken from the answer',
  });
}
