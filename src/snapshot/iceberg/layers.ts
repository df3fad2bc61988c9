import type { Manifest, ManifestFile, TableEntry } from '../manifest.ts';
import { dataFileOf, deletesFileOf, type TableManifest } from './encode-snapshot.ts';
import type { ManifestEntry, PartMetrics } from './manifest-schemas.ts';
import type { TablePart } from './position-deletes.ts';
import type { PublishedTable } from './table-files.ts';
import { snapshotsOfChain } from './table-metadata.ts';

/** A file of rows to pass over. */
export type DeletesFile = { name: string; rows: number; bytes: number };

/**
 * What one snapshot of a table has added to the one before it. The first layer of a chain is a full snapshot; each delta since is
 * one more.
 */
export type Layer = { id: number; sequence: number; deletes: DeletesFile | undefined };

/** A part of a published snapshot of the chain, and the layer that it came with, from 0. */
export type Part = TablePart & { file: ManifestFile; layer: number };

/** So many deltas share a manifest. What a delta writes grows with this, and not with how many there are. */
const layersTogether = 10;

/** The name of a snapshot's file of rows to pass over. */
export function deletesName(snapshotId: number): string {
  return `${snapshotId}-deletes.parquet`;
}

/** The layers of a published table that show a full snapshot and its deltas. */
export function layersOf({ metadata, entry }: PublishedTable, full: Manifest): Layer[] {
  let known = 0;
  return snapshotsOfChain(metadata, full.snapshot_id).map((snapshot): Layer => {
    const id = snapshot['snapshot-id'];
    const rows = Number(snapshot.summary['total-position-deletes']) - known;
    known += rows;
    const name = deletesName(id);
    return {
      id,
      sequence: snapshot['sequence-number'],
      deletes: rows === 0 ? undefined : { name, rows, bytes: bytesIn(entry, name) },
    };
  });
}

/** How many bytes a file of a table has, as CURRENT says. */
export function bytesIn({ files }: TableEntry, name: string): number {
  const file = files.find((each) => each.name === name);
  if (!file) throw new Error('a table without a file that it needs');
  return file.bytes;
}

/** The first layer that is in the manifests that a layer has written; the others up to it are in them too. */
export function firstTogether(layer: number): number {
  return layer === 0 ? 0 : layer - ((layer - 1) % layersTogether);
}

/** The earlier layers whose manifests a layer's list names beside those that it writes. */
function earlierWriters(layer: number): number[] {
  const first = firstTogether(layer);
  const writers: number[] = layer === 0 ? [] : [0];
  for (let last = layersTogether; last < first; last += layersTogether) writers.push(last);
  return writers;
}

/** The parts and layers of a chain, and where readers see a file of its table. */
export type TableContent = { parts: readonly Part[]; layers: readonly Layer[]; at: (name: string) => string };

/** What the manifests of a chain are made of. `metrics`: what the footers of parts say, by their local paths. */
type ManifestContent = TableContent & { metrics: ReadonlyMap<string, PartMetrics> };

/** The manifests of a layer: those that earlier layers have written, and its own. Without entries there is none. */
export function manifestsOf(newest: number, { parts, layers, at, metrics }: ManifestContent): TableManifest[] {
  const writtenBy = (writer: number): TableManifest[] => {
    const { id, sequence } = layers[writer] ?? { id: 0, sequence: 0 };
    const first = firstTogether(writer);
    const listed = layers.slice(first, writer + 1);
    const entryOf = (layer: Layer, file: ManifestEntry['data_file']): ManifestEntry => ({
      status: layer.id === id ? 1 : 0,
      snapshot_id: layer.id,
      sequence_number: layer.sequence,
      file_sequence_number: layer.sequence,
      data_file: file,
    });
    const data = listed.flatMap((layer, nth) =>
      parts
        .filter((part) => part.layer === first + nth)
        .map((part) => entryOf(layer, dataFileOf(part, metrics.get(part.local)))),
    );
    const deletes = listed.flatMap((layer): ManifestEntry[] => {
      if (!layer.deletes) return [];
      const { name, rows, bytes } = layer.deletes;
      return [entryOf(layer, deletesFileOf(at(name), rows, bytes))];
    });
    const all: TableManifest[] = [
      { id, sequence, content: 'parts', entries: data },
      { id, sequence, content: 'deletes', entries: deletes },
    ];
    return all.filter(({ entries }) => entries.length > 0);
  };
  return [...earlierWriters(newest), newest].flatMap(writtenBy);
}
