import { Argument, Option, type Command } from 'commander';
import { publishedDatasets, type PublishedDataset } from '../../contract/datasets.ts';
import { AppError } from '../../core/errors.ts';
import { bytesText, minuteText } from '../../core/words.ts';
import { listCurrentSnapshots, type CurrentSnapshot } from '../../snapshot/current-snapshots.ts';
import { dbtSources, duckDbScript } from '../../snapshot/load-sql.ts';
import { publishedFilesIn } from '../../snapshot/published-files.ts';
import type { CommandAction } from '../command.ts';
import { formatTable } from '../table.ts';

/** How the snapshots are shown. */
type SnapshotsFlags = { files?: boolean; sql?: 'duckdb'; dbt?: boolean };

/** Defines `snapshots`: shows the published files that readers should load now. */
export function define(command: Command): CommandAction {
  command
    .addArgument(new Argument('[datasets...]', 'the datasets; by default all').choices(publishedDatasets))
    .addOption(new Option('--files', 'print the path of each file').conflicts(['sql', 'dbt']))
    .addOption(
      new Option('--sql <engine>', 'print statements that load the files').choices(['duckdb']).conflicts('dbt'),
    )
    .option('--dbt', 'print the sources of a dbt project that reads the files (adapter dbt-duckdb)');
  return {
    help: `
Files have other names after the next export and after an erasure: ask again before each load. The rows of a dataset are its
full snapshot and the deltas that follow it; the statements of --sql and --dbt put them together, and leave out the rows
that have left since.

Examples:
  analytics-mirror snapshots
  analytics-mirror snapshots persons --files
  analytics-mirror snapshots --sql duckdb | duckdb warehouse.duckdb
  analytics-mirror snapshots --dbt > models/sources.yml`,
    run: ({ settings: { dataDir } }, given: PublishedDataset[], flags: SnapshotsFlags) => {
      const wanted = given.length > 0 ? given : publishedDatasets;
      const all = listCurrentSnapshots(publishedFilesIn(dataDir));
      const snapshots = all.filter(({ dataset }) => wanted.includes(dataset));
      if (snapshots.length === 0)
        throw new AppError('nothing is published', { code: 'storage', hint: 'run `analytics-mirror export` first' });
      return { json: { snapshots }, text: textOf(all, snapshots, wanted, flags) };
    },
  };
}

function textOf(
  all: readonly CurrentSnapshot[],
  snapshots: readonly CurrentSnapshot[],
  wanted: readonly PublishedDataset[],
  { files, sql, dbt }: SnapshotsFlags,
): string {
  if (sql !== undefined) return duckDbScript(all, wanted);
  if (dbt) return dbtSources(all, wanted);
  if (files) return snapshots.flatMap((one) => one.files.map(({ path }) => `${path}\n`)).join('');
  return formatTable(
    ['dataset', 'kind', 'rows', { right: 'files' }, { right: 'size' }, 'made'],
    snapshots.map(({ dataset, kind, rows, files: own, createdAt }) => [
      dataset,
      kind,
      rows,
      own.length,
      bytesText(own.reduce((sum, { bytes }) => sum + bytes, 0)),
      minuteText(createdAt),
    ]),
  );
}
