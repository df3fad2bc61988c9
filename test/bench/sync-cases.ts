import { createApp, type App } from '../../src/app/app.ts';
import { isoTime } from '../../src/core/clock.ts';
import type { Database } from '../../src/mirror/database.ts';
import { fenceIdentifiers, hasFence, setEpoch } from '../../src/mirror/fence.ts';
import { syncList } from '../../src/sync/sync-list.ts';
import type { CaseParameters, CaseResult } from './case.ts';

/** The program's own full pass, until its file is closed. */
export async function syncPass({ dataDir, origin, rows, generation, fence }: CaseParameters): Promise<CaseResult> {
  const app = openApp(dataDir, origin, generation);
  raiseFence(app.database(), fence);
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
  await app[Symbol.asyncDispose]();
  const ms = performance.now() - startedAt;
  if (pass.verdict !== 'complete' || pass.rowsReceived < rows) throw new Error('the pass is not complete');
  return { ms };
}

/** Fences identifiers that nobody in the list has, where none is fenced yet. */
function raiseFence(db: Database, entries: number): void {
  if (entries === 0 || hasFence(db)) return;
  const kinds = ['person_uuid', 'person_id', 'distinct_id', 'distinct_id'] as const;
  const identifiers = Array.from({ length: entries }, (_entry, index) => ({
    kind: kinds[index % kinds.length] ?? 'distinct_id',
    value: `fenced ${index}`,
  }));
  db.transaction(() => {
    fenceIdentifiers(db, { id: 'bench', epoch: 1, at: isoTime(Date.now()) }, identifiers);
    setEpoch(db, 1);
  })();
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
