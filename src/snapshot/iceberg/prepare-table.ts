import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { measureFile } from '../../core/digest.ts';
import { publishedShapes } from '../columns.ts';
import type { TableEntry } from '../manifest.ts';
import { encodeSnapshot } from './encode-snapshot.ts';
import {
  bytesIn,
  deletesName,
  firstTogether,
  layersOf,
  manifestsOf,
  type DeletesFile,
  type Layer,
  type Part,
} from './layers.ts';
import { metadataOf, nextVersion, type NewSnapshot, type TableTask } from './next-version.ts';
import { measureParts } from './part-metrics.ts';
import { writePositionDeletes } from './position-deletes.ts';
import { addressOf, describe, isFileOf, metadataBytes, metadataName, tableFolder } from './table-files.ts';

/** Files of a table that are not published yet: contents, the names of those in the draft, and what CURRENT is to say. */
export type PreparedTable = {
  files: readonly { name: string; content: Buffer }[];
  drafts: readonly string[];
  entry: TableEntry;
};

/** A file of rows to pass over that is not published yet. */
type NewDeletes = DeletesFile & { sha256: string };

/** Makes the files of a table, and publishes none. Throws DuckDB's errors. */
export async function prepareTable(connection: DuckDBConnection, task: TableTask): Promise<PreparedTable> {
  const { chain, previous, change } = task;
  const next = nextVersion(task);
  const version = (previous?.entry.version ?? 0) + 1;
  const at = (name: string): string => addressOf(task.location, name);
  const parts = partsOf(task);
  const [full] = chain;
  if (!full) throw new Error('a table of no snapshot');
  const before = previous && change.is !== 'full' ? layersOf(previous, full) : [];
  const first = next.made[0]?.layer ?? 0;
  const layers: Layer[] = before.slice(0, first);
  const drafts = await prepareDeletes(connection, task, { parts, before, made: next.made });
  for (const { id, sequence } of next.made)
    layers.push({ id, sequence, deletes: drafts.find(({ name }) => name === deletesName(id)) });
  const listed = parts.filter(({ layer }) => layer >= firstTogether(first)).map(({ local }) => local);
  const metrics = await measureParts(connection, listed, full.columns);
  const files: { name: string; content: Buffer }[] = [];
  const bytesOf = (name: string): number =>
    files.find((file) => file.name === name)?.content.length ?? (previous ? bytesIn(previous.entry, name) : 0);
  const schema = next.schemas.present;
  for (const { layer, id, sequence, parent } of next.made) {
    const manifests = manifestsOf(layer, { parts, layers, at, metrics });
    files.push(...encodeSnapshot({ id, parent, sequence, schema, at, bytesOf, manifests }));
  }
  const metadata = metadataOf(task, next, { at, parts, layers });
  files.push({ name: metadataName(version), content: metadataBytes(metadata) });
  // A reader that has just been told the version before finds it, unless it shows what was erased.
  const stays = (name: string): boolean =>
    metadata.snapshots.some((each) => isFileOf(name, each['snapshot-id'])) ||
    metadata['metadata-log'].some((log) => log['metadata-file'] === at(name));
  const entry: TableEntry = {
    version,
    files: [
      ...(previous?.entry.files.filter(({ name }) => stays(name)) ?? []),
      ...files.map(describe),
      ...drafts.map(({ name, bytes, sha256: digest }) => ({ name, bytes, sha256: digest })),
    ],
  };
  return { files, drafts: drafts.map(({ name }) => name), entry };
}

function partsOf({ location, chain, written, pathOf, change }: TableTask): Part[] {
  return chain.flatMap((manifest, layer) =>
    manifest.files.map((file): Part => {
      const place = (name: string): string => `${location}/${manifest.snapshot_id}/${name}`;
      const oldName = change.is === 'rewrite' && manifest === written ? change.replaced.get(file.name) : undefined;
      return {
        local: pathOf(manifest, file),
        path: place(file.name),
        oldPath: place(oldName ?? file.name),
        isNew: layer === chain.length - 1,
        file,
        layer,
      };
    }),
  );
}

/** The files of rows to pass over that come with new snapshots: into a draft. */
async function prepareDeletes(
  connection: DuckDBConnection,
  { published, dataset, chain, change }: TableTask,
  { parts, before, made }: { parts: readonly Part[]; before: readonly Layer[]; made: readonly NewSnapshot[] },
): Promise<NewDeletes[]> {
  if (chain.length < 2 || change.is === 'full') return [];
  const table = tableFolder(dataset);
  const pathsOf = (layers: readonly (Layer | undefined)[]): string[] =>
    layers.flatMap((layer) => (layer?.deletes ? [published.localPath(table, layer.deletes.name)] : []));
  const isDelta = change.is === 'delta';
  const named = made.filter(({ layer }) => isDelta || before[layer]?.deletes).map(({ id }) => deletesName(id));
  const folder = published.openDraft(table);
  const rows = await writePositionDeletes(connection, {
    parts,
    old: pathsOf(isDelta ? before : made.map(({ layer }) => before[layer])),
    superseded: isDelta ? { key: publishedShapes[dataset].key.name, gone: change.gone } : null,
    to: named.map((name) => join(folder, name)),
  });
  const files: NewDeletes[] = [];
  for (const [nth, name] of named.entries())
    if (rows[nth]) files.push({ name, rows: rows[nth], ...(await measureFile(join(folder, name))) });
  return files;
}
