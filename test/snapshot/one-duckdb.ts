import { DuckDBInstance, DuckDBTableFunction } from '@duckdb/node-api';

type Feed = Parameters<typeof DuckDBTableFunction.create>[0];

/** A database that was closed, and the rows that its one function gives at present. */
type Idle = { instance: DuckDBInstance; feed: Feed | undefined };

/** The functions as the program has made them. */
const feeds = new WeakMap<DuckDBTableFunction, Feed>();

/**
 * From now on, a database in memory that was closed serves again, emptied. A history opens dozens, which would take a third of its
 * time. What a database may read is not limited then, so a limit that is missing or wrong does not show.
 */
export function reuseDuckDb(): void {
  const create = DuckDBInstance.create.bind(DuckDBInstance);
  const createFunction = DuckDBTableFunction.create.bind(DuckDBTableFunction);
  DuckDBTableFunction.create = (feed) => {
    const made = createFunction(feed);
    feeds.set(made, feed);
    return made;
  };
  const idle: Idle[] = [];
  const options = {
    disabled_optimizers: 'build_side_probe_side,join_order',
    // A file may be put back as it was.
    enable_external_file_cache: 'false',
    preserve_insertion_order: 'false',
    temp_directory: '',
    threads: '1',
  };
  DuckDBInstance.create = async (path) => {
    const one = idle.pop() ?? { instance: await create(path, options), feed: undefined };
    const { instance } = one;
    let isUsed = false;
    return Object.assign(Object.create(instance) as DuckDBInstance, {
      connect: async () => {
        const connection = await instance.connect();
        const run = connection.run.bind(connection);
        const register = connection.registerTableFunction.bind(connection);
        return Object.assign(connection, {
          run: (...asked: Parameters<typeof run>) => {
            isUsed ||= /CREATE (OR REPLACE )?TABLE|ATTACH/u.test(asked[0]);
            return asked[0].startsWith('SET ') ? undefined : run(...asked);
          },
          // A database has one function for good. It gives the rows of whatever it was registered for last.
          registerTableFunction: (made: DuckDBTableFunction) => {
            const isFirst = one.feed === undefined;
            one.feed = feeds.get(made);
            if (isFirst) register(createFunction(feedOf(one)));
          },
        });
      },
      closeSync: () => (isUsed ? instance.closeSync() : void idle.push(one)),
    });
  };
}

function feedOf(one: Idle): Feed {
  const now = (): Feed => one.feed as Feed;
  return {
    ...now(),
    bindFunction: (info) => now().bindFunction(info),
    initFunction: (info) => now().initFunction(info),
    mainFunction: (info, output) => now().mainFunction(info, output),
  };
}
