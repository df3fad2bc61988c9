import { datasets, isMirrored, type PublishedDataset } from '../contract/datasets.ts';
import { RecordingPerson } from '../contract/resources.ts';
import { rowMarks, RowText } from '../contract/row-text.ts';
import { cleanJson, mayNeedCleaning } from '../core/clean-json.ts';
import { type Column, type Row, type DatasetShape, publishedShapes } from '../snapshot/columns.ts';
import { propertyOf, type Mask, type Promotion } from '../config/settings.ts';
import type { ColumnValue } from '../contract/tolerant-reader.ts';
import { AppError, usageError } from '../core/errors.ts';
import { isJsonObject, parseExactJson, type JsonObject } from '../core/exact-json.ts';
import type { Manifest } from '../snapshot/manifest.ts';
import { emailKey, trimBlanks } from '../contract/email.ts';
import { type Masks, prepareMasks } from './masks.ts';
import { listedOnly, nestedAt, promotedColumns, type PromotedColumn } from './promotion.ts';

/**
 * The version of what this program makes of the mirror's values. A new one for every change after which the same rows
 * are other files: it is how an export knows that it has to publish an unchanged mirror again.
 */
const layout = 4;

/** Which properties of persons become columns, and which are not published as they are. */
export type PublicationSettings = {
  /** Each becomes a column of persons and of recordings: `property_<key>`, unless it is given a name. */
  promote: readonly Promotion[];
  /**
   * Top-level keys. Each is published as null or as a hash, also in the persons embedded in recordings. `name` is the person's
   * name field too.
   */
  mask: readonly Mask[];
  /** `listed`: only what is promoted is published of properties and names, and nothing of fields that the contract does not know. */
  properties?: 'all' | 'listed';
  /** Where the key of hashes is; needed where a property is hashed. */
  dataDir?: string;
};

/**
 * A dataset as it is published: its shape, and what a mirror row becomes. `publishTexts` is the same for many rows at once; null
 * where they have to be taken one by one. `decided`: what decides the values besides the rows. `replaced`: how many characters
 * of each JSON column were replaced so far; `misfits`: how many values of each promoted column were none of its type.
 */
type Publication = {
  shape: DatasetShape;
  publish: (row: Row) => Row;
  publishTexts: ((rows: RowText) => RowText) | null;
  replaced: Readonly<Record<string, number>>;
  misfits: Readonly<Record<string, number>>;
  decided: Omit<Manifest['publication'], 'part_rows'>;
};

/**
 * Decides what is published of a dataset. In a promoted column of strings, a string is published as it is, any other value as
 * its JSON text, a missing one as null. What is none of a column's type is null there, and whole in the properties. JSON columns are made such that every engine reads them: NUL and lone surrogates become U+FFFD.
 * Masking reaches names and properties; it does not reach distinct ids, nor `extra`.
 * Throws `usage` when the promoted keys cannot all be columns; publishing throws `storage` at a row that is not JSON, and `usage` at a
 * masked path.
 */
export function publicationOf(
  dataset: PublishedDataset,
  { promote, mask, properties, dataDir }: PublicationSettings,
): Publication {
  const shape = publishedShapes[dataset];
  const { cleanRow, cleanText, replaced } = rowCleaner(dataset);
  const misfits: Record<string, number> = {};
  const add = publishers[dataset];
  const masks = add ? prepareMasks(mask, dataDir) : noMasks;
  const promoted = add ? promotedColumns(promote, misfits, masks.hashedUnder) : [];
  const isListed = properties === 'listed' && isMirrored(dataset);
  const isChanged = promoted.length + masks.of.size > 0 || isListed;
  const shown = { promoted, masked: masks.of, listed: isListed ? listedOf(promote) : null };
  const publish = (row: Row): Row => ({ ...(add?.(row, shown) ?? row), ...(isListed && { extra: null }) });
  return {
    shape: { ...shape, columns: [...shape.columns.map((column) => asHashed(column, masks)), ...promoted] },
    publish: isChanged ? (row) => publish(cleanRow(row)) : cleanRow,
    publishTexts: isChanged ? null : cleanText,
    replaced,
    misfits,
    decided: { layout, promote: add ? [...promote] : [], ...(isListed && { properties }), mask: masks.decided },
  };
}

const noMasks = prepareMasks([], undefined);

/** A column of the dataset's own. The name of a person can be published as a hash; the columns of JSON hold what they held. */
function asHashed(column: Column, { hashedUnder }: Masks): Column {
  const check = column.field === 'name' ? hashedUnder('name') : undefined;
  return check === undefined ? column : { ...column, hashedUnder: check };
}

/** What promotes and masks in the rows of a dataset. */
const publishers: Partial<Record<PublishedDataset, typeof publishPerson>> = {
  persons: publishPerson,
  recordings: publishRecording,
};

/** What alone is shown: properties, maybe the name, and these fields of an embedded person. */
type Listed = { properties: readonly Promotion[]; hasName: boolean; personFields: readonly string[] };

function listedOf(properties: readonly Promotion[]): Listed {
  const hasName = properties.some((one) => propertyOf(one) === 'name');
  const personFields = Object.keys(RecordingPerson.shape).filter((key) => key !== 'name' || hasName);
  return { properties, hasName, personFields };
}

/** What is shown of a row. `listed`: null where all is. */
type Shown = { promoted: readonly PromotedColumn[]; masked: Masks['of']; listed: Listed | null };

/** Adds the promoted columns to a row. What is masked is masked there too. */
function publishPerson(row: Row, { promoted, masked, listed }: Shown): Row {
  const all = parseObject(row['properties']);
  const maskName = listed && !listed.hasName ? () => null : maskOfName(row['name'], all, masked);
  const properties = listed ? listedOnly(all, listed.properties) : all;
  const isMasked = maskKeys(properties, masked);
  return {
    ...row,
    ...((isMasked || listed) && { properties: textOf(properties) }),
    ...(maskName && { name: row['name'] === null ? null : maskName(row['name']) }),
    ...valuesOf(promoted, properties),
  };
}

function publishRecording(row: Row, { promoted, masked, listed }: Shown): Row {
  const whole = parseObject(row['person']);
  const person = listed ? knownOnly(whole, listed) : whole;
  const properties = objectOf(person?.['properties']);
  const maskName = maskOfName(person?.['name'], objectOf(whole?.['properties']), masked);
  const hadName = maskName !== undefined && maskKeys(person, new Map([['name', maskName]]));
  const hadProperties = properties ? maskKeys(properties, masked) : masked.size > 0 && maskKeys(person, noProperties);
  return {
    ...row,
    ...((hadName || hadProperties || listed) && { person: textOf(person) }),
    ...valuesOf(promoted, properties),
  };
}

const noProperties: Masks['of'] = new Map([['properties', () => null]]);

/** The embedded person with its listed properties, and without fields that the contract does not know. */
function knownOnly(person: JsonObject | undefined, { properties, personFields }: Listed): JsonObject | undefined {
  if (!person) return undefined;
  const shownOf = (key: string): unknown =>
    key === 'properties' ? (listedOnly(objectOf(person[key]), properties) ?? null) : person[key];
  const shown = personFields.filter((key) => Object.hasOwn(person, key));
  return Object.fromEntries(shown.map((key) => [key, shownOf(key)]));
}

function textOf(object: JsonObject | undefined): string | null {
  return object ? JSON.stringify(object) : null;
}

function valuesOf(promoted: readonly PromotedColumn[], properties: JsonObject | undefined): Row {
  return Object.fromEntries(promoted.map(({ field, read }) => [field, read(properties)]));
}

/**
 * How a name is masked: as the property of that name, or as one that it repeats, since services show persons by a property. A name that
 * is an e-mail address is masked as `email` is, whatever is shown beside it.
 */
function maskOfName(
  name: unknown,
  properties: JsonObject | undefined,
  masked: Masks['of'],
): ReturnType<Masks['of']['get']> {
  const mask = masked.get('name');
  if (mask || typeof name !== 'string') return mask;
  const spelled = emailKey(name);
  const repeats = (value: unknown): boolean =>
    ['string', 'number', 'bigint'].includes(typeof value) && emailKey(String(value)) === spelled;
  const isEmail = /^[^\s@]+@[^\s@]+$/.test(trimBlanks(name));
  return [...masked].find(([key]) => repeats(properties?.[key]) || (isEmail && key === 'email'))?.[1];
}

/**
 * Masks the values of the masked keys of an object; null stays null. Returns whether it has any, or is no object: its keys cannot be told,
 * so it has to be left out. Throws `usage` where one is a path, whose value would be published as it is.
 */
function maskKeys(object: JsonObject | undefined, masked: Masks['of']): boolean {
  if (!object) return masked.size > 0;
  const found = [...masked].filter(([key]) => Object.hasOwn(object, key));
  for (const [key, mask] of found) object[key] = object[key] === null ? null : mask(object[key]);
  for (const key of masked.keys())
    if (key.includes('.') && nestedAt(object, key) !== undefined)
      throw usageError(
        `export.mask has ${JSON.stringify(key)}, which is within a property; only whole ones are masked`,
        `name ${JSON.stringify(key.split('.')[0])} in export.mask`,
      );
  return found.length > 0;
}

// The parser's message quotes the text, which is personal data: it must not become a cause.
function parseObject(text: ColumnValue | undefined): JsonObject | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return objectOf(parseExactJson(text));
  } catch {
    throw new AppError('cannot publish a row whose JSON column does not hold JSON', {
      code: 'storage',
      hint: "the mirror's file is damaged: run `doctor`",
    });
  }
}

function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** Makes the JSON columns of rows such that every engine reads them. `replaced` counts the characters, by column. */
type RowCleaner = {
  cleanRow: (row: Row) => Row;
  cleanText: (rows: RowText) => RowText;
  replaced: Readonly<Record<string, number>>;
};

/** What cleans the rows of a dataset. A row, or a text of rows, that needs nothing is returned as it is. */
function rowCleaner(dataset: PublishedDataset): RowCleaner {
  const fields = datasets[dataset].publishedFields;
  const replaced: Record<string, number> = {};
  const counters = fields.map(({ kind, column }) =>
    kind === 'json' ? (count: number) => void (replaced[column] = (replaced[column] ?? 0) + count) : undefined,
  );
  const json = fields.flatMap(({ name }, at) => (counters[at] ? [{ name, count: counters[at] }] : []));
  const cleanRow = (row: Row): Row => {
    const cleaned = json.flatMap(({ name, count }) => {
      const text = row[name];
      return typeof text === 'string' && mayNeedCleaning(text) ? [[name, cleanJson(text, count)] as const] : [];
    });
    return cleaned.length === 0 ? row : { ...row, ...Object.fromEntries(cleaned) };
  };
  // As Latin-1, every byte is a character: marks and escapes are found all the same.
  const cleanText = (rows: RowText): RowText => {
    if (!rows.bytes.includes('\\u')) return rows;
    const text = rows.bytes.toString('latin1');
    if (!mayNeedCleaning(text)) return rows;
    const cleanField = (field: string, at: number): string =>
      counters[at] ? cleanJson(field, counters[at], '\u00EF\u00BF\u00BD') : field;
    const lines = text
      .split(rowMarks.row)
      .map((line) => (mayNeedCleaning(line) ? line.split(rowMarks.field).map(cleanField).join(rowMarks.field) : line));
    return new RowText(Buffer.from(lines.join(rowMarks.row), 'latin1'), rows);
  };
  return { cleanRow, cleanText, replaced };
}
