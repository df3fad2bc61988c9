import { createApp } from '../../src/app/app.ts';
import { Person } from '../../src/contract/resources.ts';
import { tolerantReader } from '../../src/contract/tolerant-reader.ts';
import { isoTime, systemClock } from '../../src/core/clock.ts';
import { exportMirror } from '../../src/export/export-mirror.ts';
import { openDatabase } from '../../src/mirror/database.ts';
import { prepareWriteRow } from '../../src/mirror/write-rows.ts';
import type { CaseParameters, CaseResult } from './case.ts';
import { personJson } from './persons.ts';

/** Makes the mirror that is exported, by the program's own writing, in the order of a sync: newest first, uuids random. */
export function fillMirror({ dataDir, rows }: CaseParameters): Promise<CaseResult> {
  const startedAt = performance.now();
  const db = openDatabase(dataDir, systemClock);
  const read = tolerantReader(Person, 'uuid');
  const at = isoTime(Date.now());
  const writeRow = prepareWriteRow(db, 'persons', { admit: (row) => row });
  // One transaction for all, and no owners of distinct ids: persons are exported without them.
  db.transaction(() => {
    for (let place = 0; place < rows; place += 1) {
      const row = read(JSON.parse(personJson(place, 0, 'mixed')));
      if (!row.ok) throw new Error(row.reason);
      writeRow(row.columns, 1, at);
    }
  })();
  db.close();
  return Promise.resolve({ ms: performance.now() - startedAt });
}

/** The program's own export of persons, published. */
export async function exportPersons({ dataDir, rows }: CaseParameters): Promise<CaseResult> {
  const app = createApp({ environment: { MIRROR_DATA_DIR: dataDir }, isTerminal: false }, {});
  // Where nothing has changed, nothing would be published.
  const change = `INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'none', 'upsert', ?)`;
  app.database().prepare(change).run(isoTime(app.clock.now()));
  const startedAt = performance.now();
  const [result] = await exportMirror(app.jobContext(new AbortController().signal), {
    source: app.databaseReadOnly(),
    datasets: ['persons'],
    kind: 'full',
    onProgress: () => undefined,
  });
  const ms = performance.now() - startedAt;
  await app[Symbol.asyncDispose]();
  if (!result || result.unchangedSince !== null) throw new Error('nothing was exported');
  if (result.rows !== rows) throw new Error(`exported ${result.rows} of ${rows} rows`);
  return { ms, bytes: result.bytes };
}
