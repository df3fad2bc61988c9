import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import { isoTime, type Clock } from '../../src/core/clock.ts';
import type { PublishedDataset } from '../../src/contract/datasets.ts';
import { exportMirror, noteFeed } from '../../src/export/export-mirror.ts';
import type { MirrorExport } from '../../src/export/mirror-export.ts';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { prepareRemoveRow } from '../../src/mirror/remove-rows.ts';
import { prepareWriteRows, replacePlaylistRecordings } from '../../src/mirror/write-rows.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

/** What happens to a mirror. Rows and distinct ids are few, so that they meet. */
export type Step =
  | { do: 'show persons'; persons: { number: number; name: string; distinctIds: string[] }[] }
  | { do: 'show recordings'; recordings: { number: number; person: number; clicks: number }[] }
  | { do: 'show playlist'; number: number; name: string; recordings: number[] }
  | { do: 'remove'; dataset: 'persons' | 'recordings'; number: number }
  /** Sets the clock, back or ahead. */
  | { do: 'set clock'; hours: number }
  /** Keeps a copy of the mirror; puts the last copy back. */
  | { do: 'copy' }
  | { do: 'restore' }
  | { do: 'export'; kind: 'full' | 'delta' };

/** A mirror, and a clock that has gone on at every look. */
export function openWorld(set: Record<string, unknown> = {}) {
  const { db, dataDir } = openTestMirror();
  let nowMs = Date.UTC(2026, 10, 1);
  const clock: Clock = { now: () => (nowMs += 1), sleep: () => Promise.resolve() };
  const { settings } = loadSettings(
    {},
    { set: Object.entries({ dataDir, 'export.partRows': 2, ...set }).map(([path, value]) => ({ path, value })) },
  );
  return { db, dataDir, clock, settings, pass: (ms: number) => (nowMs += ms) };
}
export type World = ReturnType<typeof openWorld>;

const restored = ['persons', 'recordings', 'distinct_id_owners', 'distinct_ids_lost', 'changes', 'deletions'];

/** Does what happens to the mirror, as syncs do. */
export function perform({ db, dataDir, clock, pass }: World, happens: Exclude<Step, { do: 'export' }>): void {
  const copy = join(dataDir, 'copy.db');
  if (happens.do === 'set clock') return void pass(happens.hours * 3_600_000);
  if (happens.do === 'copy') {
    rmSync(copy, { force: true });
    return void db.prepare(`VACUUM INTO ?`).run(copy);
  }
  if (happens.do === 'restore') {
    if (!existsSync(copy)) return;
    db.prepare(`ATTACH ? AS copy`).run(copy);
    for (const table of [...restored, 'sqlite_sequence'])
      db.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM copy.${table}`);
    return void db.exec(`DETACH copy`);
  }
  const at = isoTime(clock.now());
  const uuid = (person: number): string => `person-${person}`;
  db.transaction(() => {
    if (happens.do === 'show persons')
      prepareWriteRows(db, 'persons')(
        {
          rows: happens.persons.map(({ number: id, name, distinctIds }) => ({
            uuid: uuid(id),
            id,
            name,
            distinct_ids: JSON.stringify(distinctIds),
            properties: '{}',
            created_at: '2026-01-01T00:00:00Z',
            extra: null,
          })),
          quarantined: [],
          at,
        },
        1,
      );
    else if (happens.do === 'show recordings')
      prepareWriteRows(db, 'recordings')(
        {
          rows: happens.recordings.map(({ number: id, person, clicks }) => ({
            ...emptyRow(db, 'recordings'),
            id: `recording-${id}`,
            person_uuid: uuid(person),
            click_count: clicks,
          })),
          quarantined: [],
          at,
        },
        1,
      );
    else if (happens.do === 'show playlist') {
      const shortId = `list-${happens.number}`;
      const members = happens.recordings.map((id) => ({
        id: `recording-${id}`,
        person_uuid: id % 2 === 0 ? uuid(id) : null,
        distinct_id: null,
      }));
      replacePlaylistRecordings(db, shortId, members, at);
      const row = { ...emptyRow(db, 'playlists'), short_id: shortId, name: happens.name };
      prepareWriteRows(db, 'playlists')({ rows: [row], quarantined: [], at }, 1);
    } else {
      const { dataset } = happens;
      const [column, key] =
        dataset === 'persons' ? ['uuid', uuid(happens.number)] : ['id', `recording-${happens.number}`];
      const rowKey = db
        .prepare<[string], number>(`SELECT row_key FROM ${dataset} WHERE ${column} = ?`)
        .pluck()
        .get(key);
      if (rowKey !== undefined) prepareRemoveRow(db, dataset)(rowKey, dataset === 'persons' ? 'merged' : 'expired', at);
    }
  })();
}

function emptyRow(db: Database, table: string): Record<string, null> {
  const names = db.prepare<[string], string>(`SELECT name FROM pragma_table_info(?)`).pluck().all(table);
  return Object.fromEntries(names.map((name) => [name, null]));
}

/** The datasets that `exportAll` exports. */
const exported = ['persons', 'recordings', 'deletions'] as const;

/** Exports each dataset, as the jobs do. */
export async function exportAll(
  { db, clock, dataDir, ...world }: World,
  kind: 'full' | 'delta',
  settings: Settings = world.settings,
  datasets: readonly PublishedDataset[] = exported,
): Promise<MirrorExport[]> {
  const source = openDatabaseReadOnly(dataDir);
  const context = { db, published: publishedFilesIn(dataDir), settings, clock, signal: new AbortController().signal };
  try {
    const exports = await exportMirror(context, { source, datasets, kind, onProgress: () => undefined });
    noteFeed(context);
    return exports;
  } finally {
    source.close();
  }
}
