import type { Command } from 'commander';
import { stringifyExactJson } from '../../core/exact-json.ts';
import { countText } from '../../core/words.ts';
import { queryMirror } from '../../mirror/query.ts';
import { runCommand, type CommandContext } from '../command.ts';
import { formatTable } from '../table.ts';

const rowsMax = 1000;

/** Defines `query`: runs a SELECT statement on the mirror. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<sql>', 'one SELECT statement')
    .addHelpText(
      'after',
      `
Shows at most ${countText(rowsMax)} rows. The mirror is opened read-only. SIGINT and SIGTERM end a statement at once, with the exit
codes 130 and 143.

Examples:
  analytics-mirror query "SELECT count(*) FROM persons"
  analytics-mirror query "SELECT name, properties ->> 'plan' AS plan FROM persons LIMIT 5" --json`,
    )
    .action((sql: string) =>
      runCommand(context, command, (app) => {
        const db = app.databaseReadOnly();
        context.signal.throwIfAborted();
        // SQLite blocks the thread until the statement ends. A signal may end the process: a reader loses nothing.
        const result = context.letSignalsEnd(() => queryMirror(db, sql, rowsMax));
        const { columns, rows, isCut } = result;
        const cells = rows.map((row) => row.map(cellText));
        if (isCut) context.stderr.write(`only the first ${countText(rowsMax)} rows are shown\n`);
        return { json: result, text: formatTable(columns, cells) };
      }),
    );
}

function cellText(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`;
  return stringifyExactJson(value);
}
