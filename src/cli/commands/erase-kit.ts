import { Option, type Command } from 'commander';
import { createFile } from '../../core/atomic-file.ts';
import { usageError } from '../../core/errors.ts';
import { readWholeFile } from '../../core/folder.ts';
import { refuseInside } from '../../erasure/request/receipt.ts';
import { eraseKit, readKitTable, type KitRequest, type KitTable } from '../../load/erase-kit.ts';
import { consumerKey } from '../../mirror/fence-entries.ts';
import type { CommandAction } from '../command.ts';

type KitFlags = { for: KitRequest['engine']; consumer: string; table: KitTable[]; fence: string; key: string };

/** Defines `erase kit`: prints statements that erase in the tables of a consumer. */
export function define(command: Command): CommandAction {
  command
    .addOption(
      new Option('--for <engine>', 'the engine of the tables')
        .choices(['postgres', 'duckdb', 'clickhouse'])
        .makeOptionMandatory(),
    )
    .requiredOption('--consumer <name>', 'the consumer whose tables they are, as export.fence names it')
    .requiredOption('--table <table>', 'a table, its columns and their kinds; repeat it', readTable)
    .option('--fence <table>', 'the table into which the dataset fence was loaded', 'mirror.fence')
    .option(
      '--key <file>',
      "where the consumer's key is written (mode 0600), and where the statements read it",
      'fence.key',
    );
  return {
    help: `
A table is given as TABLE:COLUMN=KIND,…; the kinds are uuid, distinct_id and recording_id. COLUMN=value:TEXT fills a column that may
not be empty in the control row. The statements put that row, which names nobody, into each table; find it by every column;
delete it and all that is fenced; count what is left; and print a report, one row of JSON. The report, signed by the consumer,
is for \`erase acknowledge\`. The key is read from the file, so no statement has it: give the file to the consumer only.

Examples:
  analytics-mirror erase kit --for postgres --consumer warehouse --table mart.events:person_id=uuid,distinct_id=distinct_id > kit.sql
  psql -qAtX -f kit.sql > report.json
  ssh-keygen -Y sign -n analytics-mirror -f ~/.ssh/id_ed25519 report.json`,
    run: (app, flags: KitFlags) => {
      const { dataDir, export: exporting } = app.settings;
      if (!exporting.fence.some(({ consumer }) => consumer === flags.consumer))
        throw usageError(
          'export.fence names no such consumer',
          'name it there and under export.consumers, then run `analytics-mirror export` and load',
        );
      refuseInside(dataDir, flags.key);
      // First: keys belong to a mirror that is there.
      app.databaseReadOnly();
      const key = `${consumerKey(dataDir, flags.consumer)}\n`;
      createFile(flags.key, key);
      if (readWholeFile(flags.key, 1024).toString() !== key)
        throw usageError('the file of the key holds something else', 'name another file by --key');
      const { for: engine, consumer, table: tables, fence, key: keyFile } = flags;
      const kit = eraseKit({ engine, consumer, tables, fence, keyFile });
      return Promise.resolve({ json: { kit }, text: kit });
    },
  };
}

function readTable(text: string, before: readonly KitTable[] = []): KitTable[] {
  const table = readKitTable(text);
  if (table) return [...before, table];
  throw usageError(
    '--table does not say a table and its columns',
    'say it as mart.events:person_id=uuid,distinct_id=distinct_id (kinds: uuid, distinct_id, recording_id)',
  );
}
