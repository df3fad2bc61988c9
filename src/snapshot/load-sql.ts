import { stringify } from 'yaml';
import { AppError } from '../core/errors.ts';
import { isMirrored, type PublishedDataset } from '../contract/datasets.ts';
import { publishedShapes } from './columns.ts';
import type { CurrentSnapshot } from './current-snapshots.ts';
import { parquetRows, sqlName, sqlText } from './duckdb.ts';

/**
 * Statements for DuckDB that make a table of each dataset, as the mirror was when its newest snapshot was made. `all` are the
 * current snapshots of every dataset: deltas name no row that has left, so `deletions` is read with them.
 */
export function duckDbScript(all: readonly CurrentSnapshot[], wanted: readonly PublishedDataset[]): string {
  return wanted
    .flatMap((dataset) => {
      const rows = rowsOf(all, dataset);
      return rows === null ? [] : [`CREATE OR REPLACE TABLE ${sqlName(dataset)} AS\n${rows};\n`];
    })
    .join('\n');
}

/** So many hours after its newest complete pass a list is stale: it is read as a whole every day. */
export const staleHours = 36;

/** SQL: the rows of `passes` that say how the newest full pass of a list ended. `passes`: what they are read from. */
export function newestFullPasses(passes: string): string {
  return `mode = 'full' AND pass_id IN (SELECT max(pass_id) FROM ${passes} WHERE mode = 'full' GROUP BY dataset)`;
}

/**
 * The sources of a dbt project on DuckDB (adapter dbt-duckdb, dbt 1.10 or newer): a source of each dataset, which reads the files
 * in place. A list is as fresh as its newest complete pass. Tests: each key is there once, and the newest full pass of each list is
 * complete. Throws as `deletionsOf`.
 */
export function dbtSources(all: readonly CurrentSnapshot[], wanted: readonly PublishedDataset[]): string {
  const passes = rowsOf(all, 'passes');
  const tables = wanted.flatMap((dataset) => {
    const rows = rowsOf(all, dataset);
    if (rows === null) return [];
    const { key, keyRepeats } = publishedShapes[dataset];
    return {
      name: dataset,
      config: {
        // In the rendered text, dbt-duckdb replaces names between braces.
        external_location: inJinja(`(${rows.replaceAll(/[{}]/g, '$&$&')})`),
        ...(passes !== null && isMirrored(dataset) && freshness(dataset, passes)),
      },
      columns: [
        { name: key.name, data_tests: ['not_null', ...(keyRepeats ? [] : ['unique'])] },
        ...(dataset === 'passes' ? [{ name: 'verdict', data_tests: [newestAreComplete(rows)] }] : []),
      ],
    };
  });
  return stringify({ version: 2, sources: [{ name: 'analytics_mirror', tables }] }, { lineWidth: 0 });
}

/**
 * A dbt model that keeps a table of a dataset beside those sources: a run takes rows that are newer than its own, and removes rows
 * that have left, by the numbers of the feed. What is older than every published row has left before the feed tells.
 */
export function dbtModel(dataset: PublishedDataset): string {
  const key = publishedShapes[dataset].key.name;
  const source = (name: PublishedDataset): string => `{{ source('analytics_mirror', '${name}') }}`;
  return `{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='${key}', on_schema_change='fail',
  post_hook="DELETE FROM {{ this }} AS version WHERE EXISTS (
    SELECT 1 FROM ${source('deletions')} AS gone
    WHERE gone.dataset = '${dataset}' AND gone.key = version.${key} AND gone._seq > version._seq)
  OR coalesce(version._seq < (SELECT min(_seq) FROM ${source(dataset)}), true)") }}
SELECT * FROM ${source(dataset)} AS version
{% if is_incremental() %}
WHERE NOT EXISTS (SELECT 1 FROM {{ this }} AS known WHERE known.${key} = version.${key} AND known._seq >= version._seq)
{% endif %}
`;
}

function freshness(dataset: PublishedDataset, passes: string): object {
  const complete = `dataset = ${sqlText(dataset)} AND verdict = 'complete'`;
  return {
    loaded_at_query: inJinja(`SELECT max(as_of) FROM (${passes}) WHERE ${complete}`),
    freshness: {
      warn_after: { count: staleHours, period: 'hour' },
      error_after: { count: 2 * staleHours, period: 'hour' },
    },
  };
}

function newestAreComplete(passes: string): object {
  return {
    accepted_values: {
      name: 'analytics_mirror_newest_passes_are_complete',
      arguments: { values: ['complete'] },
      config: { where: inJinja(newestFullPasses(`(${passes})`)) },
    },
  };
}

/** A text that dbt renders with Jinja. */
function inJinja(text: string): string {
  return text.replaceAll(/[{}]+/g, (braces) => `{{ '${braces}' }}`);
}

/**
 * The deletions that belong to the snapshots of a dataset; none where these are full. Throws `storage` where deltas need a
 * snapshot of `deletions` that is not published, or only an older one is.
 */
export function deletionsOf(all: readonly CurrentSnapshot[], dataset: PublishedDataset): readonly CurrentSnapshot[] {
  const needed = all.filter((one) => one.dataset === dataset).flatMap(({ deletions }) => deletions ?? []);
  if (needed.length === 0) return [];
  const gone = all.filter((one) => one.dataset === 'deletions');
  if (gone.some(({ snapshotId }) => needed.every((id) => id <= snapshotId))) return gone;
  throw new AppError(
    `${dataset} has deltas, and the snapshot of deletions that says which of its rows have left is not published`,
    { code: 'storage', hint: 'run `analytics-mirror export --kind delta` first' },
  );
}

/** The paths of a dataset's files: of its full snapshot, of the deltas that follow it, and of the deletions that belong to these. */
export type TableFiles = { full: readonly string[]; deltas: readonly string[]; gone: readonly string[] };

/**
 * The present rows of a dataset as a SELECT statement. All snapshots are streamed: only keys of what changed are held beside them. Its
 * joins compare for equality only: of a NOT EXISTS that compares numbers, DuckDB would hold every row that it is asked of, and of two such
 * anti joins, DuckDB 1.1 to 1.4.3 lose rows by chance.
 */
export function presentRows(dataset: PublishedDataset, { full, deltas, gone }: TableFiles): string {
  if (deltas.length === 0) return `FROM ${parquetRows(full)}`;
  const key = keyName(dataset);
  return `SELECT version.* FROM ${parquetRows(full)} AS version
ANTI JOIN (SELECT ${key} FROM ${parquetRows(deltas)}) AS newer ON newer.${key} = version.${key}
${withoutGone(dataset, gone)}
UNION ALL (${newestVersions(dataset, { deltas, gone })})`;
}

/** The rows that deltas have added or changed, and that have not left since, as a SELECT statement: of each its newest version. */
export function newestVersions(dataset: PublishedDataset, { deltas, gone }: Omit<TableFiles, 'full'>): string {
  const key = keyName(dataset);
  // A delta has a row once.
  return `SELECT version.* FROM ${parquetRows(deltas)} AS version
SEMI JOIN (SELECT ${key}, max(_seq) AS _seq FROM ${parquetRows(deltas)} GROUP BY ALL) AS newest
  ON newest.${key} = version.${key} AND newest._seq = version._seq
${withoutGone(dataset, gone)}`;
}

function keyName(dataset: PublishedDataset): string {
  return sqlName(publishedShapes[dataset].key.name);
}

function withoutGone(dataset: PublishedDataset, gone: readonly string[]): string {
  return `LEFT JOIN (SELECT key, max(_seq) AS _seq FROM ${parquetRows(gone)} WHERE dataset = ${sqlText(dataset)} GROUP BY ALL) AS gone
  ON gone.key = version.${keyName(dataset)}
WHERE coalesce(gone._seq <= version._seq, true)`;
}

/**
 * The present rows of a dataset as a SELECT statement; null where the dataset is not published. Throws `storage` where only
 * `deletions`, which is not published, can say which rows have left.
 */
function rowsOf(all: readonly CurrentSnapshot[], dataset: PublishedDataset): string | null {
  const own = all.filter((snapshot) => snapshot.dataset === dataset);
  if (own.length === 0) return null;
  const [full, deltas] = (['full', 'delta'] as const).map((kind) => pathsOf(own.filter((one) => one.kind === kind)));
  return presentRows(dataset, { full: full ?? [], deltas: deltas ?? [], gone: pathsOf(deletionsOf(all, dataset)) });
}

function pathsOf(snapshots: readonly CurrentSnapshot[]): string[] {
  return snapshots.flatMap(({ files }) => files.map(({ path }) => path));
}
