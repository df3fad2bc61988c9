import type { Command } from 'commander';
import { countedText } from '../../core/words.ts';
import type { LoadedTable } from '../../load/load.ts';
import { runLoadJob } from '../../worker/load-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { formatTable } from '../table.ts';
import { addSchemaOption, givenWarehouse } from '../warehouse-options.ts';

/** Defines `load`: makes the tables of a warehouse what is published. */
export function define(command: Command, context: CommandContext): CommandAction {
  addSchemaOption(
    command.requiredOption(
      '--into <warehouse>',
      'postgres://user@host/database, FILE.duckdb or clickhouse://user@host',
    ),
  );
  return {
    help: `
Each published dataset becomes a table. What was loaded stands in the tables' comments, so that a load which was killed is begun
again, and one after which nothing was published does nothing. Rows that have left, and erased people, leave the tables; an older copy of
the files is refused. Postgres and DuckDB change all tables at once, ClickHouse one after the other, each at once.
The password stands in MIRROR_WAREHOUSE_PASSWORD, or in the file that MIRROR_WAREHOUSE_PASSWORD_FILE names.
Exit code: 0 the tables are what is published.

Examples:
  analytics-mirror load --into 'postgres://loader@db.example.com/warehouse?sslmode=verify-full'
  analytics-mirror load --into warehouse.duckdb
  analytics-mirror load --into clickhouse://loader@ch.example.com:8443 --schema analytics`,
    run: async (app, { into, schema }: { into: string; schema: string }) => {
      const place = givenWarehouse(into, schema, context.environment);
      // First: opening the mirror for writing would make one where there is none.
      app.databaseReadOnly();
      const { tables } = await runLoadJob(app.jobContext(context.signal), place);
      return { json: { tables }, text: tableText(tables) };
    },
  };
}

function tableText(tables: readonly LoadedTable[]): string {
  const words = ({ did, deltas }: LoadedTable): string => {
    if (did === 'nothing') return 'nothing new';
    return did === 'everything' ? 'all rows' : countedText(deltas, 'delta');
  };
  return formatTable(
    ['table', 'snapshot', 'from a pass that was', 'loaded'],
    tables.map((table) => [table.dataset, table.snapshotId, table.verdict ?? 'never made', words(table)]),
  );
}
