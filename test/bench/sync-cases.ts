import { createApp, type App } from '../../src/app.ts';
import { openTransport } from '../../src/client/transport.ts';
import { isoTime, systemClock } from '../../src/core/clock.ts';
import { parseExactJson } from '../../src/core/exact-json.ts';
import { openDatabase, type Database } from '../../src/mirror/database.ts';
import { preparePageCommit } from '../mirror/commit-page.ts';
import { startPass } from '../../src/mirror/passes.ts';
import { readPage, type Page } from '../../src/sync/page.ts';
import { syncList } from '../../src/sync/sync-list.ts';
import type { CaseParameters, CaseResult } from './case.ts';
import { personJson } from './persons.ts';
import { personsPath, windowsOf } from './windows.ts';

/** The program's own full pass, until its file is closed. */
export async function syncPass({ dataDir, origin, rows, generation }: CaseParameters): Promise<CaseResult> {
  const app = openApp(dataDir, origin, generation);
  const startedAt = performance.now();
  const pass = await syncList({
    dataset: 'persons',
    mode: 'full',
    resume: false,
    db: app.database(),
    service: app.service(),
    settings: app.settings,
    clock: app.clock,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  await app.close();
  const ms = performance.now() - startedAt;
  if (pass.verdict !== 'complete' || pass.rowsReceived < rows) throw new Error('the pass is not complete');
  return { ms };
}

/** The rows of a pass, already read, through the page's transaction. Making and reading them is not timed. */
export function upsertAlone({ dataDir, rows, generation }: CaseParameters): Promise<CaseResult> {
  const db = openDatabase(dataDir, systemClock);
  const commit = prepareCommit(db);
  let ms = 0;
  const timed = (act: () => void): void => {
    const startedAt = performance.now();
    act();
    ms += performance.now() - startedAt;
  };
  for (const window of windowsOf(rows)) {
    const end = Math.min(rows, window.offset + window.limit);
    const results: unknown[] = [];
    for (let place = window.offset; place < end; place += 1) results.push(JSON.parse(personJson(place, generation)));
    const page = readPage({ results, count: rows }, window, 'persons');
    timed(() => commit(page));
  }
  timed(() => db.close());
  return Promise.resolve({ ms });
}

/** The steps of a pass one after the other, with the time that each of them took. */
export async function syncStages({ dataDir, origin, rows, generation }: CaseParameters): Promise<CaseResult> {
  const app = openApp(dataDir, origin, generation);
  const transport = openTransport(origin, 'bench', 1, app.settings.service);
  const commit = prepareCommit(app.database());
  const stages = { fetch: 0, parse: 0, validate: 0, SQLite: 0 };
  let since = performance.now();
  const lap = (stage: keyof typeof stages): void => {
    const now = performance.now();
    stages[stage] += now - since;
    since = now;
  };
  for (const window of windowsOf(rows)) {
    const { text } = await transport.send({ method: 'GET', path: personsPath(generation, window) });
    lap('fetch');
    const body = parseExactJson(text);
    lap('parse');
    const page = readPage(body, window, 'persons');
    lap('validate');
    commit(page);
    lap('SQLite');
  }
  await app.close();
  lap('SQLite');
  await transport.close();
  return { ms: Object.values(stages).reduce((sum, ms) => sum + ms, 0), stages };
}

/** The page's transaction, in a pass of its own. */
function prepareCommit(db: Database): (page: Page) => void {
  const at = isoTime(Date.now());
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  const commit = preparePageCommit(db, 'persons', passId);
  return ({ rows, quarantined }) => void commit({ rows, quarantined, at });
}

function openApp(dataDir: string, origin: string, generation: number): App {
  return createApp(
    {
      environment: {
        MIRROR_DATA_DIR: dataDir,
        MIRROR_BASE_URL: origin,
        MIRROR_PROJECT_ID: String(generation),
        MIRROR_API_KEY: 'bench',
      },
      isTerminal: false,
    },
    { set: [{ path: 'budget.windows', value: [] }] },
  );
}
