import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { openDatabase, openDatabaseReadOnly } from './database.ts';
import { overwriteDeleted } from './purge.ts';
import { queryMirror, type QueryResult } from './query.ts';
import type { ProcessTask, QueryAnswer } from './run-query.ts';

// A statement as a process. It ends with the process that asked for it, also while the statement blocks its thread.
const watch = `const { ppid, pid } = process;
  setInterval(() => process.ppid === ppid || process.kill(pid, 'SIGKILL'), 500);`;
new Worker(watch, { eval: true }).unref();

const nothing: QueryResult = { columns: [], rows: [], isCut: false };

function answerTo(task: ProcessTask): QueryAnswer {
  const { dataDir } = task;
  try {
    const isUsers = 'sql' in task && task.rowsMax !== null;
    const db = isUsers ? openDatabaseReadOnly(dataDir, 'user') : openDatabase(dataDir, systemClock);
    try {
      if ('overwrites' in task) return { result: { ...nothing, rows: overwriteDeleted(db) ? [[]] : [] } };
      if (task.rowsMax !== null) return { result: queryMirror(db, task.sql, task.rowsMax) };
      db.exec(task.sql);
      return { result: nothing };
    } finally {
      db.close();
    }
  } catch (error) {
    const known = error instanceof AppError ? error : explainStorageError(error, dataDir);
    const { message, code, hint } =
      known ?? new AppError('the query failed', { code: 'storage', hint: 'run `analytics-mirror doctor`' });
    return { failed: { message, code, hint } };
  }
}

process.once('message', (task) => {
  process.send?.(answerTo(task as ProcessTask), () => process.disconnect());
});
