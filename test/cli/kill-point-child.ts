import { writeFileSync, writeSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
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

function dieAt(moment: KillPoint['moment'], { statement, times }: Execution): void {
  if (point?.statement !== statement || point.nth !== times || point.moment !== moment) return;
  writeSync(2, `killed ${pointText(point)}\n`);
  process.kill(process.pid, 'SIGKILL');
}

function watch(source: string, database: Sqlite.Database, execute: () => unknown): unknown {
  const statement = nameOf(source);
  const execution = executions.get(statement) ?? { statement, times: 0, isCommitted: false };
  executions.set(statement, execution);
  execution.times += 1;
  dieAt('before', execution);
  const result = execute();
  execution.isCommitted = !database.inTransaction;
  dieAt('after', execution);
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

const statements = Object.getPrototypeOf(new Sqlite(':memory:').prepare('SELECT 1')) as Sqlite.Statement;
for (const method of ['run', 'get', 'all'])
  replaceMethod(statements, method, ({ source, readonly, database }, execute) =>
    readonly && source !== 'COMMIT' ? execute() : watch(source, database, execute),
  );
replaceMethod(Sqlite.prototype, 'exec', (database, execute, [sql]) => watch(String(sql), database, execute));

if (rehearsal !== undefined)
  process.on('exit', () => writeFileSync(rehearsal, JSON.stringify([...executions.values()])));
