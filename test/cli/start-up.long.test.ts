import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { packagesHook, ofClusters } from './loaded-packages.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url));
const door = new URL('../../src/snapshot/duckdb.ts', import.meta.url).href;

/** The packages that a process has loaded in its main thread, and how the process ended. */
function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = { NODE_COMPILE_CACHE: compileCache },
): { code: number | null; packages: unknown } {
  const { status, stderr } = spawnSync(process.execPath, ['--import', packagesHook, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...environment },
  });
  return { code: status, packages: JSON.parse(stderr.split('\n').at(-1) ?? '') };
}

describe('a command loads what it needs', () => {
  it('help loads the reader of command lines only', () => {
    const { code, packages } = run([main, '--help']);
    expect(code).toBe(0);
    expect(['commander']).toEqual(expect.arrayContaining(packages as string[]));
  });

  it('status loads no client of the service and no lines for a terminal', () => {
    const { dataDir } = openTestMirror();
    const { code, packages } = run([main, 'status', '--data-dir', dataDir]);
    expect(code).toBe(0);
    expect(packages).toContain('better-sqlite3');
    for (const name of ['undici', 'pino-pretty', 'string-width', ...ofClusters]) expect(packages).not.toContain(name);
  });

  it('from a compile cache beside the code', () => {
    run([main, '--help'], {});
    const folder = fileURLToPath(new URL('../../node_modules/.cache/analytics-mirror/', import.meta.url));
    expect(readdirSync(folder).length).toBeGreaterThan(0);
  });
});

describe('what only a cluster, a bucket or a warehouse needs is loaded', () => {
  it.each([
    ['pg', 'cluster/cluster-database.ts', `openClusterDatabase('postgres://127.0.0.1:1/none').query('SELECT 1', [])`],
    [
      'pg',
      'load/postgres.ts',
      `openPostgres({ at: 'postgres://127.0.0.1:1/none' }, null, new AbortController().signal)`,
    ],
    [
      'undici',
      'load/open-warehouse.ts',
      `withWarehouse({ engine: 'clickhouse', at: 'http://127.0.0.1:1', schema: 'x', password: null },
        { published: { localFolder: '/tmp' }, signal: new AbortController().signal }, (warehouse) => warehouse.tables())`,
    ],
    ['@aws-sdk', 'bucket/bucket.ts', `openBucket({ location: 's3://none' }, {})`],
  ])('%s at its door, when it is used', (name, file, use) => {
    const door = new URL(`../../src/${file}`, import.meta.url).href;
    const at = (act: string): unknown =>
      run(['--eval', `import(${JSON.stringify(door)}).then((all) => ${act}).catch(() => {})`]).packages;
    expect(at('all')).not.toContain(name);
    expect(at(`all.${use}`)).toContain(name);
  });
});

describe('DuckDB is loaded', () => {
  it.each(['--help', 'status', 'erase list'])('not by %s', (line) => {
    const { dataDir } = openTestMirror();
    const { code, packages } = run([main, ...line.split(' '), '--data-dir', dataDir]);
    expect(code).toBe(0);
    expect(packages).not.toContain('@duckdb');
  });

  it('at its door, when it is first used', () => {
    const use = `import(${JSON.stringify(door)}).then(({ duckDbApi }) => duckDbApi())`;
    expect(run(['--eval', use]).packages).toContain('@duckdb');
    expect(run(['--eval', use.replace(' => duckDbApi()', ' => duckDbApi')]).packages).not.toContain('@duckdb');
  });
});
