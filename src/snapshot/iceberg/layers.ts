import type { DuckDBConnection } from '@duckdb/node-api';
import type { Manifest, ManifestFile, TableEntry } from '../manifest.ts';
import { dataFileOf, deletesFileOf, manifestName, type TableManifest } from './encode-snapshot.ts';
import type { ManifestEntry } from './manifest-schemas.ts';
import { measureParts } from './part-metrics.ts';
import type { TablePart } from './position-deletes.ts';
import type { PublishedTable } from './table-files.ts';

/** A file of rows to pass over. */
export type DeletesFile = { name: string; rows: number; bytes: number };

/**
 * What one snapshot of a table has added to the one before it. The first layer of a chain is a whole snapshot: a full export, or a
 * rewrite; each delta since is one more. `generations`: of the published snapshots of the chain, those that came with it.
 */
export type Layer = {
  id: number;
  sequence: number;
  generations: { from: number; to: number };
  deletes: DeletesFile | undefined;
};

/** A part of a published snapshot of the chain: the how manieth of them is its generation, from 0. */
export type Part = TablePart & { file: ManifestFile; generation: number };

/** So many deltas share a manifest. What a delta writes grows with this, and not with how many there are. */
const layersTogether = 10;

/** The name of a snapshot's file of rows to pass over. */
export function deletesName(snapshotId: number): string {
  return `${snapshotId}-deletes.parquet`;
}

/** The layers of a published table, of a chain of so many published snapshots of which `full` is the first; none where it shows another chain. */
export function layersOf({ metadata, entry }: PublishedTable, full: Manifest, chainLength: number): Layer[] {
  const shown = metadata.snapshots.filter(({ summary }) => summary['analytics-mirror.full'] === full.snapshot_id);
  const rowsOf = (at: number): number => Number(shown[at]?.summary['total-position-deletes'] ?? 0);
  return shown.map((snapshot, at) => {
    const to = chainLength - shown.length + at;
    const id = snapshot['snapshot-id'];
    const rows = at === 0 ? rowsOf(0) : rowsOf(at) - rowsOf(at - 1);
    const name = deletesName(id);
    return {
      id,
      sequence: snapshot['sequence-number'],
      generations: { from: at === 0 ? 0 : to, to },
      deletes: rows === 0 ? undefined : { name, rows, bytes: bytesOf(entry, name) },
    };
  });
}

/** How many bytes a file of a table has, as CURRENT says. */
function bytesOf({ files }: TableEntry, name: string): number {
  const file = files.find((each) => each.name === name);
  if (!file) throw new Error('a table without a file that it needs');
  return file.bytes;
}

/** The first layer that is in the manifests that a layer has written; the others up to it are in them too. */
function firstTogether(layer: number): number {
  return layer === 0 ? 0 : layer - ((layer - 1) % layersTogether);
}

/** The earlier layers whose manifests a layer's list names beside those that it writes. */
function earlierWriters(layer: number): number[] {
  const first = firstTogether(layer);
  const writers: number[] = layer === 0 ? [] : [0];
  for (let last = layersTogether; last < first; last += layersTogether) writers.push(last);
  return writers;
}

/** The manifests of the last layer: those that earlier layers have written, and its own, with what the parts' footers say. */
export async function manifestsOf(
  connection: DuckDBConnection,
  previous: PublishedTable | undefined,
  {
    parts,
    layers,
    at,
    columns,
  }: { parts: readonly Part[]; layers: readonly Layer[]; at: (name: string) => string; columns: Manifest['columns'] },
): Promise<{ standing: (TableManifest & { bytes: number })[]; written: TableManifest[] }> {
  const newest = layers.length - 1;
  const partsIn = ({ generations: { from, to } }: Layer): Part[] =>
    parts.filter(({ generation }) => generation >= from && generation <= to);
  const own = layers.slice(firstTogether(newest)).flatMap(partsIn);
  const metrics = await measureParts(
    connection,
    own.map(({ local }) => local),
    columns,
  );
  /** The manifests that a layer has written, of those that have entries. */
  const writtenBy = (writer: number): TableManifest[] => {
    const { id, sequence } = layers[writer] ?? { id: 0, sequence: 0 };
    const listed = layers.slice(firstTogether(writer), writer + 1);
    const entryOf = (layer: Layer, generation: number, file: ManifestEntry['data_file']): ManifestEntry => ({
      status: layer.id === id ? 1 : 0,
      snapshot_id: layer.id,
      sequence_number: layer.sequence - (layer.generations.to - generation),
      file_sequence_number: layer.sequence - (layer.generations.to - generation),
      data_file: file,
    });
    const data = listed.flatMap((layer) =>
      partsIn(layer).map((part) => entryOf(layer, part.generation, dataFileOf(part, metrics.get(part.local)))),
    );
    const deletes = listed.flatMap((layer): ManifestEntry[] => {
      if (!layer.deletes) return [];
      const { name, rows, bytes } = layer.deletes;
      return [entryOf(layer, layer.generations.to, deletesFileOf(at(name), rows, bytes))];
    });
    const all: TableManifest[] = [
      { id, sequence, content: 'parts', entries: data },
      { id, sequence, content: 'deletes', entries: deletes },
    ];
    return all.filter(({ entries }) => entries.length > 0);
  };
  const standing = earlierWriters(newest)
    .flatMap(writtenBy)
    .map((manifest) =>
      Object.assign(manifest, { bytes: previous ? bytesOf(previous.entry, manifestName(manifest)) : 0 }),
    );
  return { standing, written: writtenBy(newest) };
}
