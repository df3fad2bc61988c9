import type { DuckDBConnection } from '@duckdb/node-api';
import { sqlPaths } from '../duckdb.ts';
import type { PartMetrics } from './manifest-schemas.ts';
import type { PublishedColumn } from '../manifest.ts';

/** Reads the footers of parts, in one query. The metrics come by path. */
export async function measureParts(
  connection: DuckDBConnection,
  paths: readonly string[],
  columns: readonly PublishedColumn[],
): Promise<Map<string, PartMetrics>> {
  // A group whose bounds cannot be read, and that has values, could hold any time.
  const found = await connection.runAndReadAll(`SELECT file_name, path_in_schema,
      sum(total_compressed_size), sum(num_values), sum(stats_null_count),
      epoch_us(min(least_at)), epoch_us(max(greatest_at)),
      count(*) FILTER (WHERE num_values > stats_null_count AND (least_at IS NULL OR greatest_at IS NULL))
    FROM (SELECT *, TRY_CAST(stats_min_value AS TIMESTAMPTZ) AS least_at, TRY_CAST(stats_max_value AS TIMESTAMPTZ) AS greatest_at
      FROM parquet_metadata(${sqlPaths(paths)}))
    GROUP BY ALL`);
  const byName = new Map(columns.map((column) => [column.name, column]));
  const metrics = new Map(paths.map((path) => [path, noMetrics()]));
  for (const [path, name, size, values, nulls, least, greatest, unbounded] of found.getRowsJS()) {
    const column = byName.get(name as string);
    const part = metrics.get(path as string);
    if (!column || !part || column.type === 'list<string>') continue;
    const key = column.id;
    part.column_sizes.push({ key, value: Number(size) });
    part.value_counts.push({ key, value: Number(values) });
    if (nulls !== null) part.null_value_counts.push({ key, value: Number(nulls) });
    if (column.type !== 'timestamp[us, UTC]' || typeof least !== 'bigint' || Number(unbounded) > 0) continue;
    part.lower_bounds.push({ key, value: int64(least) });
    part.upper_bounds.push({ key, value: int64(greatest as bigint) });
  }
  return metrics;
}

function noMetrics(): PartMetrics {
  return { column_sizes: [], value_counts: [], null_value_counts: [], lower_bounds: [], upper_bounds: [] };
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}
