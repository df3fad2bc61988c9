import type { Command } from 'commander';
import { countedText, countText } from '../../core/words.ts';
import { usageError } from '../../core/errors.ts';
import type { Loaded } from '../../load/load.ts';
import { configuredWarehouse, runLoadJob } from '../../worker/load-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { formatTable } from '../table.ts';
import { addSchemaOption, givenWarehouse } from '../warehouse-options.ts';

/** Defines `load`: makes the tables of a warehouse what is published. */
export function define(command: Command, context: CommandContext): CommandAction {
  addSchemaOption(
    command
      .option(
        '--into <warehouse>',
        'postgres://user@host/database, FILE.duckdb or clickhouse://user@host; without it, what export.load names',
      )
      .option(
        '--consumer <name>',
        'whose warehouse it is, as export.consumers names it: look whether it has forgotten',
      ),
  );
  return {
    help: `
Each published dataset becomes a table. What was loaded stands in the tables' comments, so that a load which was killed is begun
again, and one after which nothing was published does nothing. Rows that have left, and erased people, leave the tables; an older copy of
the files is refused. Postgres and DuckDB change all tables at once, ClickHouse one after the other, each at once.
The password stands in MIRROR_WAREHOUSE_PASSWORD, or in the file that MIRROR_WAREHOUSE_PASSWORD_FILE names.
With --consumer, the tables are looked at for everybody who was erased, and the ledger says what was observed of which; a table into
which somebody was filled again is loaded as a whole. A table that this load makes says nothing yet.
Exit codes: 0 the tables are what is published; 4 erased people are left in one.

Examples:
  analytics-mirror load --into 'postgres://loader@db.example.com/warehouse?sslmode=verify-full'
  analytics-mirror load --into warehouse.duckdb --consumer warehouse
  analytics-mirror load
  analytics-mirror load --into clickhouse://loader@ch.example.com:8443 --schema analytics`,
    run: async (app, given: { into?: string; schema: string; consumer?: string }) => {
      if (given.into === undefined && command.getOptionValueSource('schema') === 'cli')
        throw usageError('--schema goes with --into', 'give both, or set export.load.schema');
      const { consumers, load } = app.settings.export;
      const consumer = given.consumer ?? (given.into === undefined ? load.consumer : null);
      if (consumer !== null && !consumers.includes(consumer))
        throw usageError('the settings name no such consumer', 'add it to export.consumers');
      const place =
        given.into === undefined
          ? configuredWarehouse(app.settings)
          : givenWarehouse(given.into, given.schema, context.environment);
      // First: opening the mirror for writing would make one where there is none.
      app.databaseReadOnly();
      const loaded = await runLoadJob(app.jobContext(context.signal), place, consumer);
      const { outcome, tables, looked } = loaded;
      const ended = outcome === 'done' ? 'done' : 'incomplete';
      return { ended, json: { tables, looked }, text: tableText(loaded) + lookText(loaded) };
    },
  };
}

function lookText({ looked }: Loaded): string {
  if (looked.length === 0) return '';
  const rows = looked.map(({ table, found, left }) => [
    table,
    countText(found),
    left === null ? 'not seen' : countText(left),
  ]);
  return `\n${formatTable(['looked at', 'erased people’s identifiers', 'left now'], rows)}`;
}

function tableText({ tables }: Loaded): string {
  const words = ({ did, deltas }: Loaded['tables'][number]): string => {
    if (did === 'nothing') return 'nothing new';
    return did === 'everything' ? 'all rows' : countedText(deltas, 'delta');
  };
  return formatTable(
    ['table', 'snapshot', 'from a pass that was', 'loaded'],
    tables.map((table) => [table.dataset, table.snapshotId, table.verdict ?? 'never made', words(table)]),
  );
}
