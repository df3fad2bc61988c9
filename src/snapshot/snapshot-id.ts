/** Matches a snapshot id: a UTC time to the millisecond, safe in file names, sorting as time does. */
export const snapshotIdPattern = /^\d{8}T\d{6}\.\d{3}Z$/;

/**
 * The id of a snapshot made at `nowMs`, as `20261120T125500.123Z`. Ids only ever ascend: where the clock has not moved
 * past the latest id, or was set back, the id is a millisecond after the latest.
 */
export function nextSnapshotId(nowMs: number, latestId: string | undefined): string {
  const earliestMs = latestId === undefined ? nowMs : timeOf(latestId) + 1;
  return new Date(Math.max(nowMs, earliestMs)).toISOString().replaceAll(/[-:]/g, '');
}

function timeOf(id: string): number {
  return Date.parse(id.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)/, '$1-$2-$3:$4:'));
}
