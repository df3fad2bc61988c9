import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { ledgerFolder } from '../../src/ledger/entry-file.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { spellTarget } from '../../src/ledger/target.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { findFencedIdentifiers } from '../../src/mirror/fence.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
import { listPublishedParts, listPublishedSnapshots } from '../../src/snapshot/published-parts.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { reading, type Subject } from './erasure-workspace.ts';
import type { Workspace } from './workspace.ts';
import { contradictionsIn } from './mirror-consistency.ts';
import { contentOf } from './mirror-content.ts';
import { publishedRows } from './published-rows.ts';

/** All that has come of an erasure: whoever is not erased, what the feeds tell, and how the requests stand. */
export type Outcome = {
  content: Record<string, unknown[][]>;
  told: unknown[][];
  published: Record<string, string[][]>;
  requests: { origin: string; state: string; isBoxed: boolean; targets: string[] }[];
};

/**
 * Whether a request of the program's own, for somebody who left the service, was given up: so it is where the mirror has lost it, and
 * the ledger has not. The program finds the person anew, and makes another one.
 */
export function isMadeAnew({ origin, state }: { origin: string; state: string }): boolean {
  return origin === 'upstream' && state === 'cancelled';
}

/** The outcome in a data folder, without what differs from one run to the next. */
export async function outcomeOf(dataDir: string): Promise<Outcome> {
  return {
    content: contentOf(dataDir),
    published: await publishedRows(dataDir),
    ...reading(dataDir, (db) => ({
      told: db.prepare<[], unknown[]>(`SELECT dataset, key, reason FROM deletions ORDER BY 1, 2, 3`).raw().all(),
      requests: listRequests(db, 'all').map(({ id, origin, state }) => ({
        origin,
        state,
        isBoxed: db.prepare(`SELECT 1 FROM erasure_requests WHERE id = ? AND box IS NOT NULL`).get(id) !== undefined,
        targets: listTargets(db, id).map(({ target, status }) => `${spellTarget(target)} ${status}`),
      })),
    })),
  };
}

/** Fails where a data folder at rest breaks any promise of erasure. */
export async function assertErased(
  { dataDir }: Pick<Workspace, 'dataDir'>,
  subjects: readonly Subject[],
): Promise<void> {
  const db = openDatabaseReadOnly(dataDir);
  expect(contradictionsIn(db)).toEqual([]);
  expect(await findFencedIdentifiers(db).finally(() => db.close())).toEqual([]);
  expect(strayFiles(dataDir)).toEqual([]);
  const { problems, certificates } = await verifyDataFolder(dataDir, {}, new AbortController().signal);
  expect(problems).toEqual([]);
  expect(certificates).toBeGreaterThanOrEqual(subjects.length);
  expect(await residueOf(dataDir, subjects)).toEqual([]);
}

/** Fails where readers would find other files than those that CURRENT and the manifests name, with their SHA-256. */
export async function assertReadable(dataDir: string): Promise<void> {
  const { problems } = await verifySnapshots(publishedFilesIn(dataDir));
  expect(problems.filter(({ problem }) => problem !== 'unnamed')).toEqual([]);
}

/** Files below the snapshots and the temporary folder that nothing names. */
function strayFiles(dataDir: string): string[] {
  const named = new Set([
    join(dataDir, 'snapshots', 'CURRENT.json'),
    ...Object.entries(publishedFilesIn(dataDir).readCurrent().tables ?? {}).flatMap(([dataset, { files }]) =>
      [{ name: 'version-hint.text' }, ...files].map(({ name }) =>
        join(dataDir, 'snapshots', dataset, 'metadata', name),
      ),
    ),
    ...listPublishedParts(publishedFilesIn(dataDir)).map(({ path }) => path),
    ...listPublishedSnapshots(publishedFilesIn(dataDir)).map(({ dataset, snapshotId }) =>
      join(dataDir, 'snapshots', dataset, snapshotId, 'manifest.json'),
    ),
  ]);
  return filesBelow(dataDir).filter(
    (path) => /\/(?:snapshots|tmp)\//.test(path.slice(dataDir.length)) && !named.has(path),
  );
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Where texts of subjects stand: in the bytes of any file but the keys, or in a published row. Names files only. */
export async function residueOf(dataDir: string, subjects: readonly Subject[]): Promise<string[]> {
  const texts = subjects.flatMap((subject) => subject.texts);
  const patterns = texts.flatMap((text) =>
    [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)].map((form) => whole(form)),
  );
  const holds = (bytes: string): boolean => patterns.some((pattern) => pattern.test(bytes));
  const raw = filesBelow(dataDir).filter(
    (path) => !path.startsWith(join(dataDir, 'keys')) && holds(readFileSync(path, 'latin1')),
  );
  const decoded: string[] = [];
  const names = new Set([...texts, ...subjects.flatMap(({ uuids, recordings }) => [...uuids, ...recordings])]);
  for (const { dataset, path } of listPublishedParts(publishedFilesIn(dataDir))) {
    if (dataset === 'deletions') continue;
    const rows = await readWithHyparquet(path);
    if (rows.some((row) => leavesOf(row).some((leaf) => names.has(leaf)))) decoded.push(path);
  }
  return [...raw, ...decoded];
}

/** A text as it stands in a file, not as a part of a longer one. */
function whole(text: string): RegExp {
  const bytes = Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(`(?<![\\w.-])${bytes}(?![\\w-])`);
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('{') ? leavesOf(JSON.parse(value)) : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(leavesOf);
}

/**
 * Fails where something was destroyed that the ledger has no intent for: rows of a subject in the mirror, published
 * files, the person at the service. `base`: the data folder as it was. Holds at any time, also right after a kill.
 */
export function assertIntended(
  { dataDir, sandbox }: Pick<Workspace, 'dataDir' | 'sandbox'>,
  base: string,
  subjects: readonly Subject[],
): void {
  const path = ledgerFolder(dataDir);
  const torn = existsSync(path) ? verifyLedger({ folder: path }).problems : [];
  expect(torn.filter(({ problem }) => problem !== 'torn_line')).toEqual([]);
  const intents = new Set<string>();
  for (const entry of readLedger(dataDir).entries()) {
    if (entry.type === 'fencing') intents.add(`${entry.request} fencing`);
    if (entry.type === 'intent') for (const id of entry.requests) intents.add(`${id} ${entry.target}`);
  }
  const names = new Set([...intents].map((intent) => intent.slice(intent.indexOf(' ') + 1)));
  const effects = [
    ...erasedFrom(dataDir, subjects).map((request) => `${request} fencing`),
    ...subjects
      .filter(({ uuids }) =>
        [...sandbox.gone()].some(({ uuid, merged_into: into }) => into === null && uuids.includes(uuid)),
      )
      .map(({ request }) => `${request} upstream.person`),
  ];
  expect(effects.filter((effect) => !intents.has(effect))).toEqual([]);
  const replaced = listPublishedParts(publishedFilesIn(base))
    .filter(({ path: old }) => !existsSync(join(dataDir, old.slice(base.length))))
    .map(({ dataset, snapshotId, name }) => `snapshot:${dataset}/${snapshotId}/${name}`);
  expect(replaced.filter((target) => !names.has(target))).toEqual([]);
}

/** The requests of subjects who have no row in the mirror any more. */
function erasedFrom(dataDir: string, subjects: readonly Subject[]): string[] {
  return reading(dataDir, (db) => {
    const has = db.prepare<[string]>(`SELECT 1 FROM persons WHERE uuid = ?`);
    return subjects
      .filter(({ uuids }) => uuids.every((uuid) => has.get(uuid) === undefined))
      .map(({ request }) => request);
  });
}
