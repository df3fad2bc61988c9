import type { ColumnType } from '../snapshot/columns.ts';
import { sqlName, sqlText } from '../snapshot/duckdb.ts';
import type { Engine } from './address.ts';

/** A column as it is loaded. */
export type LoadedColumn = { name: string; type: ColumnType };

/**
 * How an engine holds the published values. DuckDB reads the Parquet files: expressions of `stored` and `field` are its own, all
 * others the engine's. A row's hash is the same number in every engine.
 */
export type Dialect = {
  types: Readonly<Record<ColumnType, string>>;
  /** A column's name, as SQL of the engine. */
  name: (name: string) => string;
  /** A published value as the engine can hold it. Null: as it is. */
  stored: Readonly<Partial<Record<ColumnType, (value: string) => string>>>;
  /** A stored value as a field of the engine's text format; null where the engine reads Parquet itself. */
  field: Readonly<Record<ColumnType, (value: string) => string>> | null;
  /** A value as a text that is the same in each engine. */
  canonical: Readonly<Record<ColumnType, (value: string) => string>>;
  /** How many bytes a text has, as a text. */
  bytes: (text: string) => string;
  /** The MD5 of a text, as hexadecimal digits. */
  digest: (text: string) => string;
  /** The number that the first 15 hexadecimal digits of the MD5 of a text make. */
  number: (text: string) => string;
  /** A sum of such numbers, which may be larger than each, as a text. */
  sum: (numbers: string) => string;
  /** A whole number as a text. */
  text: (number: string) => string;
};

const plain = (value: string): string => value;
const asText = (value: string): string => `${value}::VARCHAR`;
const oneOrZero = (value: string): string => `CASE ${value} WHEN true THEN '1' WHEN false THEN '0' END`;
/** Without the time zone of the session, which ::VARCHAR would show. */
const timeText = (value: string): string => `make_timestamp(epoch_us(${value}))::VARCHAR`;
const withoutNul = (value: string): string =>
  `CASE WHEN contains(${value}, chr(0)) THEN replace(${value}, chr(0), chr(65533)) ELSE ${value} END`;
/** Whether a text has one of these characters. Each is looked for by itself: a regular expression costs five times as much. */
const hasAny = (value: string, characters: readonly string[]): string =>
  characters.map((one) => `contains(${value}, ${one})`).join(' OR ');
const backslash = String.raw`'\'`;
const controls = ['chr(9)', 'chr(10)', 'chr(13)'];
/** A text between tabs, on a line of its own. Most have nothing to escape: looking costs a quarter of replacing. */
const escaped = (value: string): string => {
  const replaced = [
    [backslash, String.raw`'\\'`],
    ['chr(9)', String.raw`'\t'`],
    ['chr(10)', String.raw`'\n'`],
    ['chr(13)', String.raw`'\r'`],
  ].reduce((inner, [from, to]) => `replace(${inner}, ${from}, ${to})`, value);
  return `CASE WHEN ${hasAny(value, [backslash, ...controls])} THEN ${replaced} ELSE ${value} END`;
};
/** Elements of a list, each made a text by `element`, between commas. */
const listed = (value: string, element: string): string =>
  `array_to_string(list_transform(${value}, lambda one: ${element}), ',')`;
/** Times of years that the engine has; null for others. */
const within =
  (first: string, last: string) =>
  (value: string): string =>
    `CASE WHEN ${value} >= TIMESTAMPTZ '${first}' AND ${value} < TIMESTAMPTZ '${last}' THEN ${value} END`;

const duckdb: Dialect = {
  types: {
    string: 'VARCHAR',
    int64: 'BIGINT',
    double: 'DOUBLE',
    boolean: 'BOOLEAN',
    'timestamp[us, UTC]': 'TIMESTAMP WITH TIME ZONE',
    'list<string>': 'VARCHAR[]',
  },
  name: sqlName,
  stored: {},
  field: null,
  canonical: {
    string: plain,
    int64: asText,
    double: (value) => `${value}::BIT::BIGINT::VARCHAR`,
    boolean: oneOrZero,
    'timestamp[us, UTC]': (value) => `epoch_us(${value})::VARCHAR`,
    'list<string>': (value) => `array_to_string(list_transform(${value}, lambda one: md5(one)), '')`,
  },
  bytes: (text) => `strlen(${text})::VARCHAR`,
  digest: (text) => `md5(${text})`,
  number: (text) => `('0x' || substr(md5(${text}), 1, 15))::BIGINT`,
  sum: (numbers) => `sum(${numbers})::VARCHAR`,
  text: asText,
};

const postgres: Dialect = {
  types: {
    string: 'text',
    int64: 'bigint',
    double: 'double precision',
    boolean: 'boolean',
    'timestamp[us, UTC]': 'timestamp with time zone',
    'list<string>': 'text[]',
  },
  name: sqlName,
  // A text of Postgres has no NUL.
  stored: {
    string: withoutNul,
    'list<string>': (value) => `list_transform(${value}, lambda one: ${withoutNul('one')})`,
    'timestamp[us, UTC]': within('0001-01-01 00:00:00+00', '10000-01-01 00:00:00+00'),
  },
  field: {
    string: escaped,
    int64: asText,
    double: asText,
    boolean: asText,
    'timestamp[us, UTC]': (value) => `${timeText(value)} || '+00'`,
    // Most lists have nothing to escape, and are joined as they are.
    'list<string>': (value) => {
      const element = String.raw`'"' || replace(replace(one, '\', '\\'), '"', '\"') || '"'`;
      const isPlain = `NOT (${hasAny(`array_to_string(${value}, '')`, [backslash, `'"'`, ...controls])})`;
      return `CASE WHEN len(${value}) = 0 THEN '{}' WHEN ${isPlain} THEN '{"' || array_to_string(${value}, '","') || '"}'
        ELSE ${escaped(`('{' || ${listed(value, element)} || '}')`)} END`;
    },
  },
  canonical: {
    string: plain,
    int64: (value) => `${value}::text`,
    double: (value) => `('x' || encode(float8send(${value}), 'hex'))::bit(64)::bigint::text`,
    boolean: oneOrZero,
    'timestamp[us, UTC]': (value) => `(extract(epoch FROM ${value}) * 1000000)::bigint::text`,
    'list<string>': (value) =>
      `CASE WHEN ${value} IS NOT NULL THEN coalesce((SELECT string_agg(md5(one), '' ORDER BY place) FROM unnest(${value}) WITH ORDINALITY AS list(one, place)), '') END`,
  },
  bytes: (text) => `octet_length(${text})::text`,
  digest: (text) => `md5(${text})`,
  number: (text) => `('x' || substr(md5(${text}), 1, 15))::bit(60)::bigint`,
  sum: (numbers) => `sum(${numbers})::text`,
  text: (number) => `${number}::text`,
};

const clickhouse: Dialect = {
  types: {
    string: 'Nullable(String)',
    int64: 'Nullable(Int64)',
    double: 'Nullable(Float64)',
    boolean: 'Nullable(Bool)',
    'timestamp[us, UTC]': `Nullable(DateTime64(6, 'UTC'))`,
    'list<string>': 'Array(String)',
  },
  name: (name) => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``,
  // A DateTime64 ends in 2299, and an array is never null.
  stored: {
    'timestamp[us, UTC]': within('1900-01-01 00:00:00+00', '2300-01-01 00:00:00+00'),
    'list<string>': (value) => `coalesce(${value}, [])`,
  },
  field: {
    string: escaped,
    int64: asText,
    double: asText,
    boolean: asText,
    'timestamp[us, UTC]': timeText,
    'list<string>': (value) =>
      `'[' || ${listed(value, String.raw`'''' || replace(${escaped('one')}, '''', '\''') || ''''`)} || ']'`,
  },
  canonical: {
    string: plain,
    int64: (value) => `toString(${value})`,
    double: (value) => `if(isNull(${value}), NULL, toString(reinterpretAsInt64(assumeNotNull(${value}))))`,
    boolean: oneOrZero,
    'timestamp[us, UTC]': (value) => `toString(toUnixTimestamp64Micro(${value}))`,
    'list<string>': (value) => `arrayStringConcat(arrayMap(one -> lower(hex(MD5(one))), ${value}))`,
  },
  bytes: (text) => `toString(length(${text}))`,
  digest: (text) => `lower(hex(MD5(assumeNotNull(${text}))))`,
  number: (text) => `bitShiftRight(reinterpretAsUInt64(reverse(substring(MD5(${text}), 1, 8))), 4)`,
  sum: (numbers) => `toString(sum(toUInt128(${numbers})))`,
  text: (number) => `toString(${number})`,
};

/** How each engine holds the published values. */
export const dialects: Readonly<Record<Engine, Dialect>> = { duckdb, postgres, clickhouse };

/** Rows of DuckDB's SELECT as an engine can hold them, as another. */
export function storedRows(columns: readonly LoadedColumn[], rows: string, { stored }: Dialect): string {
  const values = columns.map(({ name, type }) => {
    const column = sqlName(name);
    return `${stored[type]?.(column) ?? column} AS ${column}`;
  });
  return `SELECT ${values.join(', ')} FROM (${rows})`;
}

/**
 * Each row of DuckDB's SELECT as a line of texts between tabs, as COPY of Postgres and TabSeparated of ClickHouse read it: as another,
 * of BLOBs, since a text would be decoded and encoded again.
 * Throws where the engine reads no lines.
 */
export function linesOf(columns: readonly LoadedColumn[], rows: string, dialect: Dialect): string {
  const { field } = dialect;
  if (field === null) throw new Error('an engine that reads no lines');
  const fields = columns.map(({ name, type }) => String.raw`coalesce(${field[type](sqlName(name))}, '\N')`);
  return `SELECT encode(concat(${fields.join(`, chr(9), `)}, chr(10))) AS line FROM (${storedRows(columns, rows, dialect)})`;
}

/** The digests of 256 buckets of keys: of each its name, how many rows it has, and the sum of the hashes of its rows. */
export function bucketDigests(hashed: string, { sum, text }: Dialect): string {
  return `SELECT bucket, ${text('count(*)')} AS rows, ${sum('hash')} AS hashes FROM (${hashed}) AS hashed GROUP BY bucket`;
}

/** The rows of one bucket: the key of each, and its hash as a text. */
export function bucketRows(hashed: string, bucket: string, { text }: Dialect): string {
  return `SELECT name, ${text('hash')} AS digits FROM (${hashed}) AS hashed WHERE bucket = ${sqlText(bucket)}`;
}

/**
 * The bucket, the key and the hash of each row. A value is its bytes with their count before, or `-` for none, so that no two rows
 * are one text.
 */
export function hashedRows(key: string, columns: readonly LoadedColumn[], rows: string, dialect: Dialect): string {
  const { canonical, bytes, number, digest } = dialect;
  const texts = columns.map(({ name, type }) => {
    const text = canonical[type](dialect.name(name));
    return `coalesce(${bytes(text)} || ':' || ${text}, '-')`;
  });
  const keyType = columns.find(({ name }) => name === key)?.type ?? 'string';
  const name = canonical[keyType](dialect.name(key));
  return `SELECT substr(${digest(name)}, 1, 2) AS bucket, ${name} AS name, ${number(texts.join(' || '))} AS hash FROM ${rows}`;
}
