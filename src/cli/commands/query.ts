import type { Command } from 'commander';
import { stringifyExactJson } from '../../core/exact-json.ts';
import { countText } from '../../core/words.ts';
import { runQuery } from '../../mirror/run-query.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { formatTable } from '../table.ts';

const rowsMax = 1000;

/** Defines `query`: runs a SELECT statement on the mirror. */
export function define(command: Command, context: CommandContext): CommandAction {
  command.argument('<sql>', 'one SELECT statement');
  return {
    help: `
Shows at most ${countText(rowsMax)} rows, and 64 MiB. The mirror is opened read-only. A statement ends after query.secondsMax, and
beyond query.temporaryBytesMax of temporary files.

Examples:
  analytics-mirror query "SELECT count(*) FROM persons"
  analytics-mirror query "SELECT name, properties ->> 'plan' AS plan FROM persons LIMIT 5" --json`,
    run: async ({ settings }, sql: string) => {
      const { dataDir, query, alerts } = settings;
      const limits = { ...query, ...alerts, signal: context.signal };
      const result = await runQuery({ dataDir, sql, rowsMax }, limits);
      const { columns, rows, isCut } = result;
      const cells = rows.map((row) => row.map(cellText));
      if (isCut) context.stderr.write(`only the first ${countText(rows.length)} rows are shown\n`);
      return { json: result, text: formatTable(columns, cells) };
    },
  };
}

function cellText(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`;
  return stringifyExactJson(value);
}
