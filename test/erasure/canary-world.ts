import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import { systemClock } from '../../src/core/clock.ts';
import { textLeaves } from '../../src/core/exact-json.ts';
import { addRequests } from '../../src/erasure/receive.ts';
import { exportMirror } from '../../src/export/export-mirror.ts';
import type { JobContext } from '../../src/job/job-context.ts';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { startPass } from '../../src/mirror/passes.ts';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { runEraseJob } from '../../src/erasure/fence/restore-guard.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { jobContext } from '../job/job-context.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { addPeople, insert, personOf, textsOf, type Person } from './scan/canary.ts';

const signal = new AbortController().signal;
const canaryWords = ['firstcanary', 'middlecanary', 'lastcanary'];

/** A data folder in which some people stand wherever anybody can, and others beside them. */
export type CanaryWorld = {
  dataDir: string;
  db: Database;
  settings: Settings;
  canaries: Person[];
  others: Person[];
  /** Every text that any row of a canary has ever had, but for uuids and recording ids, which the feeds tell. */
  texts: string[];
  context: JobContext;
  /** Requests for the canaries, or for others, by uuid. */
  request: (people?: readonly Person[]) => Promise<void>;
};

/**
 * Makes it: rows that grew and shrank, over many pages; several generations of files, the canaries' rows the first, in the
 * middle and the last of a part, and alone in one; the quarantine, an unfinished pass, a playlist, statistics, and the
 * draft of an export that was killed.
 */
export async function openCanaryWorld(generations = 1, bystanders = 4): Promise<CanaryWorld> {
  const { db, dataDir } = openTestMirror();
  const set = [
    { path: 'dataDir', value: dataDir },
    { path: 'export.partRows', value: 3 },
  ];
  const { settings } = loadSettings({}, { set });
  // In parts of three: the first of one, the middle of another, and the last, alone.
  const canaries = canaryWords.map((word, index) =>
    personOf(word, [3, 516, 9999][index] ?? 0, index === 0 ? 6000 : 40),
  );
  const others = Array.from({ length: bystanders }, (_, index) =>
    personOf(`other${index}`, 501 + index * 7 + (index > 3 ? 10 : 0)),
  );
  const texts = new Set<string>();
  addPeople(db, [...others, ...canaries]);
  noteTexts(texts, canaries);
  for (let generation = 1; generation <= generations; generation += 1) {
    churn(db, generation, canaries, texts);
    await publishAll(db, dataDir, settings);
  }
  hideElsewhere(db, dataDir, canaries);
  const context = jobContext({ db, settings, clock: systemClock }, {});
  return {
    dataDir,
    db,
    settings,
    canaries,
    others,
    texts: [...texts],
    context,
    request: async (people = canaries) => {
      const given = people.map(({ row }) => ({ kind: 'uuid', value: String(row['uuid']) }) as const);
      await runEraseJob(context, async (parts) => {
        await addRequests(parts, given, { basis: 'objection', by: 'the-test', deleteEvents: true });
        return { outcome: 'done', counts: {} };
      });
    },
  };
}

function noteTexts(texts: Set<string>, people: readonly Person[]): void {
  for (const person of people) {
    const all = [...person.distinctIds, ...textsOf(person).map(parsed)];
    for (const text of textLeaves(all)) if (/canary/.test(text)) texts.add(text);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Rows grow beyond a page and shrink again, so that pages are split and refilled. */
function churn(db: Database, generation: number, canaries: readonly Person[], texts: Set<string>): void {
  const change = db.prepare(`UPDATE persons SET properties = ?, name = ? WHERE uuid = ?`);
  const tell = db.prepare(
    `INSERT INTO changes (dataset, key, op, at) VALUES ('persons', ?, 'upsert', '2026-11-20T10:00:00Z')`,
  );
  for (const size of [9000, 50, 400])
    for (const { row, distinctIds } of canaries) {
      const word = `${String(distinctIds[1])}-generation${generation}-${size}`;
      const properties = { email: distinctIds[0], note: `${word} `.repeat(size / 50).trim(), emoji: `${word} 🦤"\\%` };
      change.run(JSON.stringify(properties), `${word} name`, row['uuid']);
      tell.run(row['uuid']);
      // Long ones are in pieces on their pages.
      for (const text of [word, `${word} name`, properties.emoji]) texts.add(text);
    }
}

async function publishAll(db: Database, dataDir: string, settings: Settings): Promise<void> {
  const source = openDatabaseReadOnly(dataDir);
  try {
    await exportMirror(
      { db, published: publishedFilesIn(dataDir), settings, clock: systemClock, signal },
      { source, datasets: publishedDatasets, kind: 'full', onProgress: () => undefined },
    );
  } finally {
    source.close();
  }
}

/** Everywhere else that something of a person can be left. */
function hideElsewhere(db: Database, dataDir: string, canaries: readonly Person[]): void {
  const at = '2026-11-20T11:00:00.000Z';
  for (const [index, { row, recording, distinctIds }] of canaries.entries()) {
    const seen = { first_seen_pass: 1, last_seen_pass: 1, seen_at: at };
    const payload = JSON.stringify({
      uuid: row['uuid'],
      created_at: 7,
      note: `${String(distinctIds[1])} in quarantine`,
    });
    insert(db, 'quarantine', { dataset: 'persons', row_id: `q${index}`, reason: 'x', payload, ...seen });
    insert(db, 'playlist_recordings', { short_id: 'list', recording_id: String(recording['id']) });
    const key = db
      .prepare<[string], number>(`SELECT row_key FROM persons WHERE uuid = ?`)
      .pluck()
      .get(String(row['uuid']));
    insert(db, 'distinct_ids_lost', { person_row_key: key ?? 0, distinct_id: `${String(distinctIds[1])}-lost` });
  }
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  const cursor = JSON.stringify({ keys: canaries.map(({ row }) => row['uuid']) });
  db.prepare(`UPDATE passes SET cursor = ? WHERE id = ?`).run(cursor, passId);
  db.exec('ANALYZE');
  const [part] = listPublishedParts(publishedFilesIn(dataDir));
  const draft = join(dataDir, 'tmp', 'snapshot-persons-20261120T110000.000Z');
  mkdirSync(draft, { recursive: true });
  if (part) copyFileSync(part.path, join(draft, 'part-00001.parquet'));
}

/** Keeps the published files aside; returns what puts them back. */
export function keepSnapshots({ dataDir }: CanaryWorld): () => void {
  const [from, to] = [join(dataDir, 'snapshots'), `${dataDir}-kept`];
  cpSync(from, to, { recursive: true });
  onTestFinished(() => cpSync(to, from, { recursive: true, force: true }));
  return () => cpSync(to, from, { recursive: true, force: true });
}
