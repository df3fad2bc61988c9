import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { sqlText } from '../../src/snapshot/duckdb.ts';
import type { CaseParameters, CaseResult } from './case.ts';

/** Loads what the export published into a DuckDB file, for `copyAlone`. */
export async function fillDuckDb({ dataDir }: CaseParameters): Promise<CaseResult> {
  const files = join(dataDir, 'snapshots', 'persons', '*', '*.parquet');
  return { ms: await runTimed(dataDir, `CREATE TABLE persons AS FROM read_parquet(${sqlText(files)})`) };
}

/** DuckDB's COPY alone: the same rows in its own table, all cores, its own defaults but for codec and row groups. */
export async function copyAlone({ dataDir }: CaseParameters): Promise<CaseResult> {
  const path = join(dataDir, 'copy.parquet');
  const ms = await runTimed(
    dataDir,
    `COPY persons TO ${sqlText(path)} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 40960)`,
  );
  return { ms, bytes: statSync(path).size };
}

async function runTimed(dataDir: string, sql: string): Promise<number> {
  const instance = await DuckDBInstance.create(join(dataDir, 'copy.duckdb'));
  const connection = await instance.connect();
  const startedAt = performance.now();
  await connection.run(sql);
  const ms = performance.now() - startedAt;
  connection.closeSync();
  instance.closeSync();
  return ms;
}
