import process from 'node:process';
import { json } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { answerApart } from '../core/apart.ts';
import { systemClock } from '../core/clock.ts';
import { openDatabase, openDatabaseReadOnly } from './database.ts';
import { overwriteDeleted } from './purge.ts';
import { queryMirror, type QueryResult } from './query.ts';
import type { ProcessTask } from './run-query.ts';

// A statement as a process. It ends with the process that asked for it, also while the statement blocks its thread.
const watch = `const { ppid, pid } = process;
  setInterval(() => process.ppid === ppid || process.kill(pid, 'SIGKILL'), 500);`;
new Worker(watch, { eval: true }).unref();

/** What the process answers: the rows of a statement, or whether it is done. */
function resultOf(task: ProcessTask): QueryResult | boolean {
  const { dataDir } = task;
  const isUsers = 'sql' in task && task.rowsMax !== null;
  using db = isUsers ? openDatabaseReadOnly(dataDir, 'user') : openDatabase(dataDir, systemClock);
  if ('overwrites' in task) return overwriteDeleted(db);
  if (task.rowsMax !== null) return queryMirror(db, task.sql, task.rowsMax);
  db.exec(task.sql);
  return true;
}

const task = (await json(process.stdin)) as ProcessTask;
await answerApart('the query', async () => Promise.resolve(resultOf(task)), task.dataDir);
