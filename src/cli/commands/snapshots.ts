import { Argument, Option, type Command } from 'commander';
import type { App } from '../../app/app.ts';
import { isMirrored, publishedDatasets, type PublishedDataset } from '../../contract/datasets.ts';
import { AppError, usageError } from '../../core/errors.ts';
import { bytesText, countedText, countText, minuteText, printableLines } from '../../core/words.ts';
import {
  listCurrentColumns,
  listCurrentSnapshots,
  listCurrentTables,
  type CurrentSnapshot,
} from '../../snapshot/current-snapshots.ts';
import { dataContract } from '../../snapshot/data-contract.ts';
import { dbtModel, dbtSources, deletionsOf, duckDbScript } from '../../snapshot/load-sql.ts';
import { publishedFilesIn } from '../../snapshot/published-files.ts';
import { namesEngine } from '../../load/address.ts';
import { verifyWarehouse, type TableCheck } from '../../load/verify-warehouse.ts';
import { readLedger } from '../../ledger/ledger.ts';
import { openCopySource } from '../../status/copy-source.ts';
import { goneSnapshots, verifyCopy, type CopyCheck, type CopyProblem } from '../../status/verify-copy.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { formatTable } from '../table.ts';
import { addSchemaOption, givenWarehouse } from '../warehouse-options.ts';

/** How the snapshots are shown. */
type SnapshotsFlags = {
  files?: boolean;
  sql?: 'duckdb';
  dbt?: 'sources' | 'model';
  contract?: boolean;
  verify?: string;
  schema: string;
};

/** Defines `snapshots`: shows the published files that readers should load now. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .addArgument(new Argument('[datasets...]', 'the datasets; by default all').choices(publishedDatasets))
    .addOption(new Option('--files', 'print the path of each file').conflicts(['sql', 'dbt']))
    .addOption(
      new Option('--sql <engine>', 'print statements that load the files').choices(['duckdb']).conflicts('dbt'),
    )
    .addOption(
      new Option(
        '--dbt [what]',
        'print the sources of a dbt project that reads the files (adapter dbt-duckdb), or the model that keeps one dataset as a table',
      )
        .choices(['sources', 'model'])
        .preset('sources'),
    )
    .addOption(
      new Option('--contract', 'print an Open Data Contract (ODCS) of the tables').conflicts(['files', 'sql', 'dbt']),
    )
    .addOption(
      new Option(
        '--verify <place>',
        "hold a consumer's copy (a folder, s3://bucket/prefix or https://…) or a warehouse (as `load` names it) against what is published now",
      ).conflicts(['files', 'sql', 'dbt', 'contract']),
    );
  addSchemaOption(command);
  return {
    help: `
Files have other names after the next export and after an erasure: ask again before each load. The rows of a dataset are its
full snapshot and the deltas that follow it; the statements of --sql and --dbt put them together, and leave out the rows
that have left since. The sources of --dbt have freshness, and tests that fail where the newest pass of a list is not complete.
The model of --dbt model is incremental, and is printed once.
--contract describes the tables that \`load\` makes, and classifies the columns that tell of persons.
--verify reads the copy, wherever persons/<snapshot id>/part-00001.parquet and the others lie below the place. It names files
that are missing or differ, and files that an erasure has replaced or that are no longer published: they may hold erased
people, so delete them. A bucket is reached as export.s3 says, and its older versions count. A web server lists nothing: it
is asked for the published files, for the parts that erasures replaced, and for snapshots that were published once.
A warehouse is compared by digests of 256 buckets of keys, which it computes itself: rows are named that are missing, extra, stale
or doubled; a distinct id is named by its MD5.
Exit codes: 0 done, 4 the copy or the warehouse differs.

Examples:
  analytics-mirror snapshots
  analytics-mirror snapshots persons --files
  analytics-mirror snapshots --sql duckdb | duckdb warehouse.duckdb
  analytics-mirror snapshots --dbt > models/sources.yml
  analytics-mirror snapshots persons --dbt model > models/persons.sql
  analytics-mirror snapshots --contract > contract.yaml
  analytics-mirror snapshots --verify /mnt/lake/analytics
  analytics-mirror snapshots --verify s3://lake/analytics
  analytics-mirror snapshots persons --verify warehouse.duckdb`,
    run: async (app, given: PublishedDataset[], flags: SnapshotsFlags) => {
      const wanted = given.length > 0 ? given : publishedDatasets;
      if (flags.dbt === 'model') return { json: { model: modelOf(given) }, text: modelOf(given) };
      const published = publishedFilesIn(app.settings.dataDir);
      const all = listCurrentSnapshots(published);
      const snapshots = all.filter(({ dataset }) => wanted.includes(dataset));
      if (snapshots.length === 0)
        throw new AppError('nothing is published', { code: 'storage', hint: 'run `analytics-mirror export` first' });
      if (flags.verify !== undefined && namesEngine(flags.verify)) {
        const place = givenWarehouse(flags.verify, flags.schema, context.environment);
        const tables = await verifyWarehouse(place, { published, signal: context.signal }, wanted);
        const ended = tables.every(({ state }) => state === 'equal') ? 'done' : 'incomplete';
        return { ended, json: { warehouse: { tables } }, text: warehouseText(tables) };
      }
      if (flags.verify !== undefined) {
        const verified = await verifyAt(flags.verify, app, wanted, context.signal);
        const ended = verified.problems.length === 0 ? 'done' : 'incomplete';
        return { ended, json: { verified }, text: copyText(verified) };
      }
      if (flags.contract) {
        const contract = dataContract(listCurrentColumns(published, wanted));
        return { json: { contract }, text: contract };
      }
      for (const dataset of wanted) deletionsOf(all, dataset);
      const tables = listCurrentTables(published, wanted);
      return { json: { snapshots, tables }, text: textOf(all, snapshots, wanted, flags) };
    },
  };
}

async function verifyAt(
  place: string,
  { settings }: Pick<App, 'settings'>,
  datasets: readonly PublishedDataset[],
  signal: AbortSignal,
): Promise<CopyCheck> {
  const { dataDir } = settings;
  await using source = await openCopySource(place, settings, signal);
  const gone = (): string[] => goneSnapshots(readLedger(dataDir));
  return await verifyCopy({ published: publishedFilesIn(dataDir), datasets, gone }, source, signal);
}

function modelOf([dataset, ...others]: readonly PublishedDataset[]): string {
  if (dataset !== undefined && others.length === 0 && isMirrored(dataset)) return dbtModel(dataset);
  throw usageError(
    '--dbt model prints the model of one dataset that has deltas',
    `name one of ${publishedDatasets.filter(isMirrored).join(', ')}; of the others, select from the source`,
  );
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

const problemWords: Readonly<Record<CopyProblem['problem'], string>> = {
  missing: 'is missing: readers should load it now',
  differs: 'has other bytes than the published file: copy it again',
  replaced: 'was replaced by an erasure, and may hold erased people: delete it',
  stray: 'is no published file, and may hold erased people: readers of the whole folder load it too; delete it',
  retired: 'is no longer published, and may hold erased people: delete it',
  older: 'has an older version with other bytes, which may hold erased people: delete that version',
};

function copyText({ files, bytes, isListed, problems }: CopyCheck): string {
  const lines = problems.map(({ file, problem }) => `${printableLines(file)} ${problemWords[problem]}\n`);
  const read = `${countedText(files, 'published file was', 'published files were')} read, ${bytesText(bytes)}`;
  const found = lines.length === 0 ? 'the copy is what is published now' : countedText(lines.length, 'difference');
  const limit = isListed ? '' : 'The place cannot be listed: only files whose names are known were asked for.\n';
  return `${lines.join('')}${read}: ${found}.\n${limit}`;
}

const stateWords: Readonly<Record<TableCheck['state'], string>> = {
  equal: 'is what is published now',
  differs: 'DIFFERS from what is published now',
  not_loaded: 'IS NOT LOADED',
  other_columns: 'HAS OTHER COLUMNS than are published now',
};

/** So many differences of a table are shown to people; `--json` has up to 1,000. */
const shownMax = 20;

function warehouseText(tables: readonly TableCheck[]): string {
  return tables
    .map(({ dataset, state, isCurrent, rows: { published, held }, differences }) => {
      const shown = differences.slice(0, shownMax).map(({ key, is }) => `  ${is}: ${key}\n`);
      const more = differences.length > shownMax ? `  … and others\n` : '';
      const counts = `${countedText(held, 'row')} of ${countText(published)}`;
      const todo = isCurrent ? 'drop the table and load again' : 'load what is published first';
      return `${dataset} ${stateWords[state]} (${counts})${state === 'equal' ? '' : `: ${todo}`}.\n${shown.join('')}${more}`;
    })
    .join('');
}
