import { controlIdentifier, readerKinds, type ReaderKind } from '../mirror/fence-entries.ts';
import { sqlText } from '../snapshot/duckdb.ts';
import type { Engine } from './address.ts';
import { dialects, type Dialect } from './dialect.ts';

/** A table of a consumer: its columns that identify people, and the values with which a control row fills others. */
export type KitTable = {
  table: string;
  identifying: readonly { column: string; kind: ReaderKind }[];
  filled: readonly { column: string; value: string }[];
};

/** What a kit is printed for. `fence`: the table that has the dataset; `keyFile`: where the statements find the consumer's key. */
export type KitRequest = {
  engine: Engine;
  consumer: string;
  tables: readonly KitTable[];
  fence: string;
  keyFile: string;
};

/** What an engine needs that the others say otherwise. `memory`: what it says of a table's deleted rows, as JSON. */
type Words = {
  hash: (text: string) => string;
  begin: readonly string[];
  helper: (name: string, columns: string) => string;
  readKey: (keys: string, file: string) => string;
  remove: (table: string, where: string) => string;
  commit: (tables: readonly string[]) => readonly string[];
  memory: (table: string) => string;
};

const removeRows = (table: string, where: string): string => `DELETE FROM ${table} WHERE ${where};`;
const temporary = (name: string, columns: string): string => `CREATE TEMP TABLE ${name} (${columns});`;

const words: Readonly<Record<Engine, Words>> = {
  postgres: {
    hash: (text) => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`,
    // Where a policy hides rows, a statement fails: what is hidden would count as gone.
    begin: ['\\set ON_ERROR_STOP on', 'BEGIN;', 'SET LOCAL row_security = off;'],
    helper: temporary,
    readKey: (keys, file) => `\\copy ${keys} FROM ${sqlText(file)}`,
    remove: removeRows,
    commit: (tables) => ['COMMIT;', ...tables.map((table) => `VACUUM ${table};`)],
    memory: (table) =>
      `'{"dead_rows":' || (SELECT coalesce(sum(n_dead_tup), 0)::text FROM pg_stat_user_tables WHERE relid = ${sqlText(table)}::regclass) || '}'`,
  },
  duckdb: {
    hash: (text) => `sha256(${text})`,
    begin: ['BEGIN;'],
    helper: temporary,
    readKey: (keys, file) => `INSERT INTO ${keys} SELECT trim(content, chr(10)) FROM read_text(${sqlText(file)});`,
    remove: removeRows,
    commit: () => ['COMMIT;', 'CHECKPOINT;'],
    memory: () =>
      `'{"wal":"' || (SELECT any_value(wal_size) FROM pragma_database_size() WHERE database_name = current_database()) || '"}'`,
  },
  clickhouse: {
    hash: (text) => `lower(hex(SHA256(${text})))`,
    begin: [],
    helper: (name, columns) => `CREATE OR REPLACE TABLE ${name} (${columns}) ENGINE = Memory;`,
    readKey: (keys, file) => `INSERT INTO ${keys} FROM INFILE ${sqlText(file)} FORMAT TSV;`,
    remove: (table, where) => `ALTER TABLE ${table} DELETE WHERE ${where} SETTINGS mutations_sync = 2;`,
    commit: () => [],
    memory: (table) => {
      const [name = '', database] = table
        .split('.')
        .toReversed()
        .map((part) => sqlText(part.replaceAll('`', '')));
      const of = `database = ${database ?? 'currentDatabase()'} AND table = ${name}`;
      return `'{"open_mutations":' || (SELECT toString(count()) FROM system.mutations WHERE ${of} AND NOT is_done) || ',"inactive_parts":' || (SELECT toString(count()) FROM system.parts WHERE ${of} AND NOT active) || '}'`;
    },
  },
};

/** A name that may have its schema before it, as SQL of an engine. */
function nameOf(table: string, { name }: Dialect): string {
  return table.split('.').map(name).join('.');
}

/**
 * Statements that delete from tables of a consumer what stands in its fence, and report on it in one row of text, JSON, at the end. In
 * each table a control row is put, which names nobody and stands in every fence: the count has to find it by every column before
 * the deletion. The key is read from a file, so that no statement and no log of the engine has it.
 */
export function eraseKit({ engine, consumer, tables, fence, keyFile }: KitRequest): string {
  const dialect = dialects[engine];
  const { text, types } = dialect;
  const { hash, begin, helper, readKey, remove, commit, memory } = words[engine];
  // ClickHouse has no temporary tables that a deletion could read.
  const place = engine === 'clickhouse' && fence.includes('.') ? fence.replace(/[^.]+$/, '') : '';
  const keys = nameOf(`${place}erase_kit_key`, dialect);
  const counts = nameOf(`${place}erase_kit_counts`, dialect);
  const entries = `FROM ${nameOf(fence, dialect)} WHERE consumer = ${sqlText(consumer)}`;
  const valueOf = (column: string, kind: ReaderKind): string => {
    const value = text(column);
    return kind === 'person_uuid' ? `lower(${value})` : value;
  };
  const isFenced = (table: string, { column, kind }: KitTable['identifying'][number]): string => {
    const tag = hash(`substr(k.key, 1, 64) || ${sqlText(`${kind}:`)} || ${valueOf(`e.${dialect.name(column)}`, kind)}`);
    const entry = hash(`substr(k.key, 65, 64) || ${tag}`);
    return `${dialect.name(column)} IN (SELECT e.${dialect.name(column)} FROM ${table} AS e CROSS JOIN ${keys} AS k WHERE ${entry} IN (SELECT entry ${entries}))`;
  };
  const count = (step: string, table: string, where: string): string =>
    `INSERT INTO ${counts} SELECT ${sqlText(step)}, count(*) FROM ${table} WHERE ${where};`;
  const counted = (step: string): string => `SELECT max(n) FROM ${counts} WHERE step = ${sqlText(step)}`;
  const textOf = (number: string): string => `coalesce(${text(`(${number})`)}, 'null')`;
  const parts = tables.map(({ table: given, identifying, filled }, at) => {
    const table = nameOf(given, dialect);
    const each = identifying.map((one) => isFenced(table, one));
    const isControl = identifying.map(
      ({ column, kind }) => `${valueOf(dialect.name(column), kind)} = ${sqlText(controlIdentifier)}`,
    );
    const [any, control] = [`(${each.join(' OR ')})`, `(${isControl.join(' AND ')})`];
    const values = [...identifying.map(({ column }) => ({ column, value: controlIdentifier })), ...filled];
    return {
      statements: [
        `INSERT INTO ${table} (${values.map(({ column }) => dialect.name(column)).join(', ')}) VALUES (${values.map(({ value }) => sqlText(value)).join(', ')});`,
        count(`control ${at}`, table, `${control} AND ${each.join(' AND ')}`),
        count(`found ${at}`, table, `${any} AND NOT coalesce(${control}, false)`),
        remove(table, any),
        remove(table, control),
        count(`left ${at}`, table, `${any} OR ${control}`),
      ],
      report: [
        `'{"table":${JSON.stringify(given)},"control":' || ${textOf(counted(`control ${at}`))}`,
        `',"deleted":' || ${textOf(`(${counted(`found ${at}`)}) - (${counted(`left ${at}`)})`)}`,
        `',"left":' || ${textOf(counted(`left ${at}`))}`,
        `',"memory":' || ${memory(table)} || '}'`,
      ].join(' || '),
    };
  });
  return [
    ...begin,
    helper(keys, `key ${types.string}`),
    readKey(keys, keyFile),
    helper(counts, `step ${types.string}, n ${types.int64}`),
    ...parts.flatMap(({ statements }) => statements),
    ...commit(tables.map(({ table }) => nameOf(table, dialect))),
    `SELECT '{"report":1,"consumer":"${consumer}","engine":"${engine}","epoch":' || ${textOf(`SELECT max(epoch) ${entries}`)} || ',"tables":[' || ${parts.map(({ report }) => report).join(` || ',' || `)} || ']}' AS report;`,
    `DROP TABLE ${keys};`,
    `DROP TABLE ${counts};`,
  ]
    .map((statement) => `${statement}\n`)
    .join('');
}

/** The words for kinds of identifiers that an operator gives. */
const givenKinds: Readonly<Record<string, ReaderKind>> = Object.fromEntries(
  readerKinds.map((kind) => [kind === 'person_uuid' ? 'uuid' : kind, kind]),
);

/** The table that a text names: `mart.events:person_id=uuid,distinct_id=distinct_id,team=value:7`. Undefined for any other text. */
export function readKitTable(text: string): KitTable | undefined {
  const [, table, columns] = /^([a-z_]\w*(?:\.[a-z_]\w*){0,2}):(.+)$/.exec(text) ?? [];
  if (table === undefined || columns === undefined) return undefined;
  const pairs = columns.split(',').map((pair) => /^([^=]+)=(?:value:(.*)|(\w+))$/.exec(pair) ?? []);
  const identifying = pairs.flatMap(([, column = '', , word = '']) => {
    const kind = givenKinds[word];
    return kind ? [{ column, kind }] : [];
  });
  const filled = pairs.flatMap(([, column = '', value]) => (value === undefined ? [] : [{ column, value }]));
  return identifying.length > 0 && identifying.length + filled.length === pairs.length
    ? { table, identifying, filled }
    : undefined;
}
