import { propertyOf, type Promotion } from '../config/settings.ts';
import { datasets as contract, pagedDatasets, seqField } from '../contract/datasets.ts';
import type { ColumnValue } from '../contract/tolerant-reader.ts';
import { type AppError, usageError } from '../core/errors.ts';
import { integerText, isJsonObject, type JsonObject } from '../core/exact-json.ts';
import { isoToMicros } from '../core/time.ts';
import { type Column, type ColumnType, column } from '../snapshot/columns.ts';
import { rowPlaceNames } from '../snapshot/duckdb.ts';
import type { Masks } from './masks.ts';

/** A property that becomes a column, and the column's value of each row. */
export type PromotedColumn = Column & { readonly read: (properties: JsonObject | undefined) => ColumnValue };

/** What a type makes of a value that is not null; undefined where the value is no such one. None of them rounds. */
type Conversion = { type: ColumnType; convert: (value: unknown) => ColumnValue | undefined };

const conversions: Readonly<Record<Exclude<Promotion, string>['type'], Conversion>> = {
  string: { type: 'string', convert: (value) => (typeof value === 'string' ? value : JSON.stringify(value)) },
  json: { type: 'string', convert: (value) => JSON.stringify(value) },
  int64: { type: 'int64', convert: int64Of },
  double: { type: 'double', convert: (value) => (typeof value === 'number' ? value : undefined) },
  boolean: { type: 'boolean', convert: (value) => (typeof value === 'boolean' ? Number(value) : undefined) },
  timestamp: {
    type: 'timestamp[us, UTC]',
    convert: (value) => (typeof value === 'string' && isoToMicros(value) !== undefined ? value : undefined),
  },
};

function int64Of(value: unknown): bigint | undefined {
  const digits = typeof value === 'string' ? undefined : integerText(value);
  const integer = digits === undefined ? undefined : BigInt(digits);
  return integer !== undefined && BigInt.asIntN(64, integer) === integer ? integer : undefined;
}

const promotedMax = 200;

/** Names that columns and fields of the datasets with promoted columns have: a reader could take a promoted column for one of them. */
const ownNames = [seqField, ...pagedDatasets.flatMap((dataset) => contract[dataset].publishedFields)].flatMap(
  ({ name, column: published }) => [name, published],
);

/**
 * The columns that `export.promote` names, in its order. A value that is none of its type is null there, and counted in
 * `misfits` by column. Throws `usage` where they cannot all be columns.
 */
export function promotedColumns(
  promote: readonly Promotion[],
  misfits: Record<string, number>,
  hashedUnder: Masks['hashedUnder'],
): PromotedColumn[] {
  if (promote.length > promotedMax)
    throw badPromote(`names ${promote.length} properties; at most ${promotedMax} can be columns`);
  // Readers of Parquet, DuckDB among them, take `Email` and `email` for one name.
  const taken = new Set(ownNames.map((name) => name.toLowerCase()));
  return promote.map((one) => {
    const { property, type, ...given } = typeof one === 'string' ? { property: one, type: 'string' as const } : one;
    const name = ('as' in given ? given.as : undefined) ?? `property_${property}`;
    const isRowPlace = rowPlaceNames.includes(name.toLowerCase());
    if (property === '' || /\p{Cc}/u.test(name) || !name.isWellFormed() || isRowPlace)
      throw badPromote(`has ${JSON.stringify(name)}, which cannot be a column's name`);
    if (taken.has(name.toLowerCase()))
      throw badPromote(
        `has the column ${JSON.stringify(name)}, which there is already (upper and lower case are the same)`,
      );
    taken.add(name.toLowerCase());
    const { type: columnType, convert } = conversions[type];
    const check = hashedUnder(property);
    if (check !== undefined && columnType !== 'string')
      throw badPromote(`has ${JSON.stringify(property)} as ${type}, but \`export.mask\` hashes it: a hash is a string`);
    const find = typeof one === 'string' ? ownValue : valueAt;
    const read: PromotedColumn['read'] = (properties) => {
      const value = find(properties, property);
      if (value === undefined || value === null) return null;
      const converted = convert(value);
      if (converted === undefined) misfits[name] = (misfits[name] ?? 0) + 1;
      return converted ?? null;
    };
    return { ...column(name, columnType), ...(check !== undefined && { hashedUnder: check }), read };
  });
}

/** The properties that are listed, each where it was found: a key of the whole, or within the objects on its path. */
export function listedOnly(properties: JsonObject | undefined, listed: readonly Promotion[]): JsonObject | undefined {
  if (!properties) return undefined;
  // Without a prototype, any key is one as others.
  const empty = (): JsonObject => Object.create(null) as JsonObject;
  const kept = empty();
  for (const one of listed) {
    const property = propertyOf(one);
    const isKey = typeof one === 'string' || Object.hasOwn(properties, property);
    const value = isKey ? ownValue(properties, property) : valueAt(properties, property);
    if (value === undefined) continue;
    const path = isKey ? [property] : property.split('.');
    const within = path.slice(0, -1).reduce((object: JsonObject, key) => {
      const next = object[key];
      return isJsonObject(next) ? next : (object[key] = empty());
    }, kept);
    within[path.at(-1) ?? ''] = value;
  }
  return kept;
}

function ownValue(object: unknown, key: string): unknown {
  return isJsonObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The value of a property, or of a path of keys between dots. A property with dots in its key comes first. */
function valueAt(properties: unknown, path: string): unknown {
  return ownValue(properties, path) ?? nestedAt(properties, path);
}

/** The value of a path of keys between dots. */
export function nestedAt(properties: unknown, path: string): unknown {
  return path.split('.').reduce(ownValue, properties);
}

function badPromote(what: string): AppError {
  return usageError(`export.promote ${what}`, 'correct export.promote');
}
