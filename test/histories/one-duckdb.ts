import { DuckDBInstance, type DuckDBTableFunction } from '@duckdb/node-api';

/**
 * From now on, a database in memory that was closed serves again, emptied. A history opens dozens, which would take a third of its
 * time. What a database may read is not limited then, so a limit that is missing or wrong does not show.
 */
export function reuseDuckDb(): void {
  const create = DuckDBInstance.create.bind(DuckDBInstance);
  const idle: DuckDBInstance[] = [];
  const options = {
    disabled_optimizers: 'build_side_probe_side,join_order',
    // A file may be put back as it was.
    enable_external_file_cache: 'false',
    preserve_insertion_order: 'false',
    temp_directory: '',
    threads: '1',
  };
  DuckDBInstance.create = async (path) => {
    const instance = idle.pop() ?? (await create(path, options));
    let hasFunction = false;
    return Object.assign(Object.create(instance) as DuckDBInstance, {
      connect: async () => {
        const connection = await instance.connect();
        const run = connection.run.bind(connection);
        const register = connection.registerTableFunction.bind(connection);
        const tables = await connection.runAndReadAll('SELECT table_name FROM duckdb_tables()');
        for (const [table] of tables.getRows()) await run(`DROP TABLE "${String(table)}"`);
        return Object.assign(connection, {
          run: (...asked: Parameters<typeof run>) => (asked[0].startsWith('SET ') ? undefined : run(...asked)),
          // It stays for good, with the rows that it was made for.
          registerTableFunction: (made: DuckDBTableFunction) => {
            hasFunction = true;
            register(made);
          },
        });
      },
      closeSync: () => (hasFunction ? instance.closeSync() : void idle.push(instance)),
    });
  };
}
