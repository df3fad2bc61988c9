/** The name of a snapshot, published or not. */
export type SnapshotName = { readonly dataset: string; readonly snapshotId: string };

/** Matches a snapshot id: a UTC time to the millisecond, safe in file names, sorting as time does. */
export const snapshotIdPattern = /^\d{8}T\d{6}\.\d{3}Z$/;

/** Matches the name of a part, and captures its number. */
export const partPattern = /^part-(\d{5,})\.parquet$/;

/** Matches the name of a file of a table: its metadata, its manifest list, its manifests, the rows that readers pass over. */
export const tableFilePattern = /^(?:v\d+\.metadata\.json|\d+-(?:list|parts|deletes)\.avro|\d+-deletes\.parquet)$/;

/** The file that says what a snapshot holds. A snapshot without one was never published. */
export const manifestName = 'manifest.json';

/** A snapshot's id, as `20261120T125500.123Z`: its time, or a millisecond after the latest id if that is later. */
export function nextSnapshotId(nowMs: number, latestId: string | undefined): string {
  const latest = latestId?.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)/, '$1-$2-$3:$4:');
  const earliestMs = latest === undefined ? nowMs : Date.parse(latest) + 1;
  return new Date(Math.max(nowMs, earliestMs)).toISOString().replaceAll(/[-:]/g, '');
}

/** The name of the nth part, from 1. */
export function partName(part: number): string {
  return `part-${String(part).padStart(5, '0')}.parquet`;
}

/** The number of a part, from its name; undefined for another file. */
export function partNumber(name: string): number | undefined {
  const digits = partPattern.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
