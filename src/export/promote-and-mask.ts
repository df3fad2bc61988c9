import type { RowText } from '../contract/row-text.ts';
import type { ColumnValue } from '../contract/tolerant-reader.ts';
import { AppError } from '../core/errors.ts';
import { isJsonObject, parseExactJson, type JsonObject } from '../core/exact-json.ts';
import type { PublishedDataset } from '../contract/datasets.ts';
import { type Column, type DatasetShape, type Row, column, datasets } from '../snapshot/columns.ts';
import type { Manifest } from '../snapshot/manifest.ts';
import { rowCleaner } from './clean-rows.ts';

/**
 * The version of what this program makes of the mirror's values. A new one for every change after which the same rows
 * are other files: it is how an export knows that it has to publish an unchanged mirror again.
 */
const layout = 2;

/** Which properties of persons become columns, and which are not published. Keys are top-level property keys. */
export type PublicationSettings = {
  /** Each becomes a column `property_<key>` of persons. */
  promote: readonly string[];
  /** Each is published as null, also in the persons embedded in recordings. `name` is the person's name field too. */
  mask: readonly string[];
};

/**
 * A dataset as it is published: its shape, and what a mirror row becomes. `publishTexts` is the same for many rows at once; null
 * where they have to be taken one by one. `decided`: what decides the values besides the rows. `replaced`: how many characters
 * of each JSON column were replaced so far.
 */
type Publication = {
  shape: DatasetShape;
  publish: (row: Row) => Row;
  publishTexts: ((rows: RowText) => RowText) | null;
  replaced: Readonly<Record<string, number>>;
  decided: Omit<NonNullable<Manifest['publication']>, 'part_rows'>;
};

const promotedMax = 200;

/**
 * Decides what is published of a dataset. A promoted string is published as it is, any other value as its JSON text, a
 * missing one as null. JSON columns are made such that every engine reads them: NUL and lone surrogates become U+FFFD.
 * Masking reaches names and properties; it does not reach distinct ids, nor `extra`.
 * Throws `usage` when the promoted keys cannot all be columns; publishing throws `storage` at a row that is not JSON.
 */
export function publicationOf(dataset: PublishedDataset, { promote, mask }: PublicationSettings): Publication {
  const shape = datasets[dataset];
  const masked = new Set(mask);
  const decided = {
    layout,
    promote: dataset === 'persons' ? [...promote] : [],
    mask: dataset === 'persons' || dataset === 'recordings' ? [...masked].toSorted() : [],
  };
  const { cleanRow, cleanText, replaced } = rowCleaner(dataset);
  const own = { shape, decided, replaced, publishTexts: null };
  if (dataset === 'persons' && promote.length + mask.length > 0) {
    const promoted = promotedColumns(promote, shape);
    const columns = [...shape.columns, ...promoted.values()];
    const publish = (row: Row): Row => publishPerson(cleanRow(row), promoted, masked);
    return { ...own, shape: { ...shape, columns }, publish };
  }
  if (dataset === 'recordings' && mask.length > 0)
    return { ...own, publish: (row) => publishRecording(cleanRow(row), masked) };
  return { ...own, publish: cleanRow, publishTexts: cleanText };
}

function promotedColumns(keys: readonly string[], shape: DatasetShape): ReadonlyMap<string, Column> {
  if (keys.length > promotedMax) throw badPromote(`names ${keys.length} keys; at most ${promotedMax} can be columns`);
  const promoted = new Map<string, Column>();
  // Readers of Parquet, DuckDB among them, take `Email` and `email` for one name.
  const taken = new Set(shape.columns.map(({ name }) => name.toLowerCase()));
  for (const key of keys) {
    const name = `property_${key}`;
    if (key === '' || /\p{Cc}/u.test(key) || !key.isWellFormed())
      throw badPromote(`has the key ${JSON.stringify(key)}, which cannot be in a column's name`);
    if (taken.has(name.toLowerCase()))
      throw badPromote(`has the key ${JSON.stringify(key)} twice (upper and lower case are the same)`);
    taken.add(name.toLowerCase());
    promoted.set(key, column(name, 'string'));
  }
  return promoted;
}

function badPromote(what: string): AppError {
  return new AppError(`export.promote ${what}`, { code: 'usage', hint: 'correct export.promote' });
}

function publishPerson(row: Row, promoted: ReadonlyMap<string, Column>, masked: ReadonlySet<string>): Row {
  const published: Record<string, ColumnValue> = { ...row };
  const properties = parseObject(row['properties']);
  for (const [key, { field }] of promoted) published[field] = masked.has(key) ? null : promotedValue(properties, key);
  if (maskKeys(properties, masked)) published['properties'] = JSON.stringify(properties);
  if (masked.has('name')) published['name'] = null;
  return published;
}

function publishRecording(row: Row, masked: ReadonlySet<string>): Row {
  const person = parseObject(row['person']);
  const hadName = masked.has('name') && maskKeys(person, new Set(['name']));
  const hadProperties = maskKeys(objectOf(person?.['properties']), masked);
  return hadName || hadProperties ? { ...row, person: JSON.stringify(person) } : row;
}

/** Sets the masked keys of an object to null. Returns whether it has any. */
function maskKeys(object: JsonObject | undefined, masked: ReadonlySet<string>): boolean {
  if (!object) return false;
  const found = [...masked].filter((key) => Object.hasOwn(object, key));
  for (const key of found) object[key] = null;
  return found.length > 0;
}

function promotedValue(properties: JsonObject | undefined, key: string): string | null {
  if (!properties || !Object.hasOwn(properties, key)) return null;
  const value = properties[key];
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
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
