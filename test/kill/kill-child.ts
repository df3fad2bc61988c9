import childProcess, { type ChildProcess } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import { writeFileSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import { pointText, type KillPoint } from './kill-point.ts';
import { countOperations } from './operation.ts';
import { namedPoints } from './named-point.ts';
import { replaceMethod } from './replace-method.ts';
import { watchFiles } from './watch-files.ts';
import { watchSql } from './watch-sql.ts';

// Preloaded into a process: kills it at KILL_POINT (or stops it, where KILL_SIGNAL says so), or writes to KILL_RECORD what it
// executed. The folder that it works on is that of `--data-dir`, or its last argument.
const point = JSON.parse(process.env['KILL_POINT'] ?? 'null') as KillPoint | null;
const record = process.env['KILL_RECORD'];
// A process that this one starts must not write over it.
delete process.env['KILL_RECORD'];
const dataDirAt = process.argv.indexOf('--data-dir') + 1;
const folder = process.argv.at(dataDirAt || -1) ?? '';

function die(): void {
  if (point) writeSync(2, `killed ${pointText(point)}\n`);
  process.kill(process.pid, process.env['KILL_SIGNAL'] ?? 'SIGKILL');
}

const { pass, executions } = countOperations(point, die);
watchSql(folder, pass);
watchFiles(folder, pass);

// A point within the start of a process kills the process that was started, and not this one.
const started = new Map<string, number>();
replaceMethod(childProcess, 'spawn', (_self, execute, [, parameters]) => {
  const name = `start ${basename((parameters as string[]).at(-1) ?? '')}`;
  const nth = (started.get(name) ?? 0) + 1;
  started.set(name, nth);
  if (point?.moment === 'within' && point.operation === name && point.nth === nth) {
    const child = execute() as ChildProcess;
    child.stdin?.once('finish', () => {
      child.kill('SIGKILL');
    });
    return child;
  }
  return pass({ kind: 'process', name, isChange: true, execute, isCommitted: () => true });
});
syncBuiltinESMExports();

for (const [channel, verb] of [
  ['create', 'send'],
  ['headers', 'be answered'],
] as const)
  diagnostics.subscribe(`undici:request:${channel}`, (message) => {
    const { method, path } = (message as { request: { method: string; path: string } }).request;
    const place = path.replace(/\?.*/, '').replaceAll(/\/[0-9a-f-]*\d[0-9a-f-]*(?=\/)/g, '/ID');
    passEvent('http', `${verb} ${method} ${place}`);
  });
for (const [channel, verb] of [
  ['http.client.request.start', 'send'],
  ['http.client.response.finish', 'be answered'],
] as const)
  diagnostics.subscribe(channel, (message) => {
    const { method, path } = (message as { request: { method: string; path: string } }).request;
    passEvent('http', `${verb} ${method} ${placeInBucket(path)}`);
  });
namedPoints.subscribe((name) => passEvent('named', String(name)));

function passEvent(kind: 'http' | 'named', name: string): void {
  pass({ kind, name, isChange: true, execute: () => undefined, isCommitted: () => false });
}

if (record !== undefined) process.on('exit', () => writeFileSync(record, JSON.stringify(executions())));

/** A path of a bucket, without what differs from one run to the next. */
function placeInBucket(path: string): string {
  return path
    .replace(/\?.*/, '')
    .replace(/[0-9a-f]{32}/, 'PROJECT')
    .replace(/\d{12}\.jsonl/, 'NUMBER.jsonl')
    .replace(/\d{8}T\d{6}\.\d{3}Z/, 'SNAPSHOT')
    .replace(/part-\d{5}/, 'PART')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, 'ID')
    .replace(/\bv\d+\.metadata/, 'VERSION.metadata')
    .replace(/\d{9,}/, 'NUMBER');
}
