import childProcess, { type ChildProcess } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import { writeFileSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import Sqlite from 'better-sqlite3';
import { watchFiles } from './kill-point-files.ts';
import { pointText, type Execution, type KillPoint } from './kill-point.ts';

// Preloaded into a command: kills it at CRASH_POINT, or writes to CRASH_REHEARSAL what it executed.
const point = JSON.parse(process.env['CRASH_POINT'] ?? 'null') as KillPoint | null;
const rehearsal = process.env['CRASH_REHEARSAL'];

const executions = new Map<string, Execution>();
const names = new Map<string, string>();
let lastChange = '';

/** A statement in one line; a COMMIT by what it commits. */
function nameOf(source: string): string {
  if (source === 'COMMIT') return `COMMIT after ${lastChange}`;
  const name = names.get(source) ?? source.replace(/\s+/g, ' ').trim();
  names.set(source, name);
  lastChange = name;
  return name;
}

function isAt(moment: KillPoint['moment'], { statement, times }: Execution): boolean {
  return point?.statement === statement && point.nth === times && point.moment === moment;
}

function die(): void {
  if (point) writeSync(2, `killed ${pointText(point)}\n`);
  process.kill(process.pid, 'SIGKILL');
}

function watch<T>(
  statement: string,
  execute: () => T,
  isCommitted: () => boolean,
  within?: (execution: Execution) => void,
): T {
  const execution = executions.get(statement) ?? { statement, times: 0, isCommitted: false };
  executions.set(statement, execution);
  execution.times += 1;
  if (isAt('before', execution)) die();
  within?.(execution);
  const result = execute();
  execution.isCommitted = isCommitted();
  if (isAt('after', execution)) die();
  return result;
}

type Method<T> = (this: T, ...parameters: unknown[]) => unknown;

/** Does `around` instead of a method, which it is given to do. */
function replaceMethod<T extends object>(
  owner: T,
  name: string,
  around: (self: T, execute: () => unknown, parameters: unknown[]) => unknown,
): void {
  const original = Reflect.get(owner, name) as Method<T>;
  const replacement: Method<T> = function (...parameters) {
    return around(this, () => Reflect.apply(original, this, parameters), parameters);
  };
  Reflect.set(owner, name, replacement);
}

function watchSql(source: string, database: Sqlite.Database, execute: () => unknown): unknown {
  return watch(nameOf(source), execute, () => !database.inTransaction);
}

const statements = Object.getPrototypeOf(new Sqlite(':memory:').prepare('SELECT 1')) as Sqlite.Statement;
for (const method of ['run', 'get', 'all'])
  replaceMethod(statements, method, ({ source, readonly, database }, execute) =>
    readonly && source !== 'COMMIT' ? execute() : watchSql(source, database, execute),
  );
replaceMethod(Sqlite.prototype, 'exec', (database, execute, [sql]) =>
  watchSql(String(sql), database, execute),
);

const dataDir = process.argv[process.argv.indexOf('--data-dir') + 1] ?? '';
watchFiles(dataDir, ({ name, isEffect, execute, doHalf }) =>
  watch(
    name,
    execute,
    () => isEffect,
    (execution) => {
      if (!isAt('within', execution)) return;
      doHalf?.();
      die();
    },
  ),
);

// A process that is started dies instead of this one where the point lies within it.
replaceMethod(childProcess, 'spawn', (_self, execute, [, parameters]) => {
  const statement = `start ${basename((parameters as string[]).at(-1) ?? '')}`;
  const child = watch(statement, execute, () => true) as ChildProcess;
  const execution = executions.get(statement);
  if (execution && isAt('within', execution))
    child.stdin?.once('finish', () => {
      child.kill('SIGKILL');
    });
  return child;
});
syncBuiltinESMExports();

for (const [channel, verb] of [
  ['create', 'send'],
  ['headers', 'be answered'],
] as const)
  diagnostics.subscribe(`undici:request:${channel}`, (message) => {
    const { method, path } = (message as { request: { method: string; path: string } }).request;
    const place = path.replace(/\?.*/, '').replaceAll(/\/[0-9a-f-]*\d[0-9a-f-]*(?=\/)/g, '/ID');
    watch(
      `${verb} ${method} ${place}`,
      () => undefined,
      () => false,
    );
  });

// The command itself tells: the scanner that it has started may end later, and has done other things.
if (rehearsal !== undefined && basename(process.argv[1] ?? '') === 'main.ts')
  process.on('exit', () => writeFileSync(rehearsal, JSON.stringify([...executions.values()])));
