import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { isHere, type WorkerState } from '../job/worker-state.ts';
import { readCertificateFile } from '../erasure/proof/certificate-file.ts';
import { databasePath, openDatabaseReadOnly, type Database } from '../mirror/database.ts';
import { findRequest } from '../mirror/erasure-requests.ts';
import { gatherOverview } from './gather-overview.ts';
import type { FromPage, PageTask, ToPage } from './page.ts';
import type { Listening } from '../core/listening.ts';
import { startStatusServer } from './server.ts';

// The thread of the status page. Neither its connections nor its look into the data folders hold up the jobs, and no job
// holds up its answers.
const task = workerData as PageTask;
const port = parentPort;
if (!port) throw new Error('no thread');
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const tell = (message: FromPage): void => port.postMessage(message);

let state: WorkerState = { startedAt: task.startedAt, projects: [] };
const wanted: ((text: string) => void)[] = [];
const readers = new Map<string, Database>();
/** A project whose data folder is here, with a mirror, and could be opened by the worker. */
const sourceOf = (name: string) => {
  const settings = task.projects.find((each) => each.name === name);
  const project = state.projects.find((each) => each.name === name);
  if (!settings || project?.problem !== null || !isHere(project)) return undefined;
  if (!existsSync(databasePath(settings.dataDir))) return undefined;
  const db = (): Database => {
    const opened = readers.get(name) ?? openDatabaseReadOnly(settings.dataDir, 'beside others');
    readers.set(name, opened);
    return opened;
  };
  return { db, settings };
};
/** Closes the connection to a data folder that is another machine's to fill now. */
const forget = (name: string): void => {
  readers.get(name)?.close();
  readers.delete(name);
};

const close = async (server: Listening): Promise<void> => {
  await server.close();
  for (const db of readers.values()) db.close();
  port.close();
};

try {
  const server = await startStatusServer({
    access: task.access,
    port: task.port,
    clock: systemClock,
    overview: () =>
      gatherOverview({
        version: task.version,
        worker: () => state,
        sourceOf,
        nowMs: () => systemClock.now(),
        namesHeld: task.access.token !== null,
        pause: () => setImmediate(),
      }),
    certificateOf: (name, id) => {
      const source = sourceOf(name);
      const request = source && findRequest(source.db(), id);
      if (!source || !request || !['certified', 'sealed'].includes(request.state)) return undefined;
      return readCertificateFile(source.settings.dataDir, request.id, request.generation);
    },
    processMetrics: () => {
      tell({ wants: 'metrics' });
      const { promise, resolve } = Promise.withResolvers<string>();
      wanted.push(resolve);
      // A job that computes does not answer now.
      setTimeout(() => resolve(''), 500).unref();
      return promise;
    },
    silentMs: () => systemClock.now() - Number(Atomics.load(task.beat, 0)),
    onError: (error) => tell({ failed: error instanceof AppError ? error.code : 'unexpected' }),
  });
  port.on('message', (message: ToPage) => {
    if ('state' in message) {
      state = message.state;
      for (const { name } of state.projects.filter((project) => !isHere(project))) forget(name);
    } else if ('metrics' in message) for (const resolve of wanted.splice(0)) resolve(message.metrics);
    else void close(server);
  });
  tell({ url: server.url });
} catch (error) {
  if (!(error instanceof AppError)) throw error;
  tell({ refused: { message: error.message, code: error.code, hint: error.hint } });
  port.close();
}
