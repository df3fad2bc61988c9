import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { openDatabase, openDatabaseReadOnly } from './database.ts';
import { overwriteDeleted } from './purge.ts';
import { queryMirror } from './query.ts';
import type { QueryAnswer, QueryTask } from './run-query.ts';

// A statement as a process. It ends with the process that asked for it, also while the statement blocks its thread.
const watch = `const { ppid, pid } = process;
  setInterval(() => process.ppid === ppid || process.kill(pid, 'SIGKILL'), 500);`;
new Worker(watch, { eval: true }).unref();

function answerTo({ dataDir, sql, rowsMax }: QueryTask): QueryAnswer {
  try {
    const db = rowsMax === null ? openDatabase(dataDir, systemClock) : openDatabaseReadOnly(dataDir, 'user');
    try {
      if (rowsMax !== null && sql !== null) return { result: queryMirror(db, sql, rowsMax) };
      if (sql !== null) db.exec(sql);
      const isDone = sql !== null || overwriteDeleted(db);
      return { result: { columns: [], rows: isDone ? [[]] : [], isCut: false } };
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
  process.send?.(answerTo(task as QueryTask), () => process.disconnect());
});
