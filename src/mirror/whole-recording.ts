import type { Database } from 'better-sqlite3';
import { datasets, type MirroredDataset } from '../contract/datasets.ts';
import type { Columns, ColumnValue } from '../contract/tolerant-reader.ts';

/** A shown row, with what is kept of the whole that the mirror has; undefined where the mirror has none that began earlier. */
type WholeRecording = (rowKey: number, part: Readonly<Columns>) => Readonly<Columns> | undefined;

/**
 * Prepares what keeps a recording whole; undefined for other datasets. Of one that began before the first day of a list a live service
 * lists the part since then, and measures that: a later start, fewer clicks. Start and address of the whole stay, and so does each
 * measure that is no smaller.
 */
export function prepareWholeRecording(db: Database, dataset: MirroredDataset): WholeRecording | undefined {
  if (dataset !== 'recordings') return undefined;
  const measures = datasets.recordings.fields.flatMap(({ name, kind }) =>
    ['integer', 'real', 'time'].includes(kind) || name === 'start_url' ? name : [],
  );
  const select = db
    .prepare<[number, ColumnValue], Columns>(
      /*sql*/ `SELECT ${measures.join(', ')} FROM recordings WHERE row_key = ? AND start_time < ?`,
    )
    .safeIntegers();
  return (rowKey, part) => {
    const whole = select.get(rowKey, part['start_time'] ?? null);
    if (!whole) return undefined;
    const isGreater = (name: string): boolean =>
      !['start_time', 'start_url'].includes(name) && (part[name] ?? '') > (whole[name] ?? '');
    return { ...part, ...Object.fromEntries(Object.entries(whole).filter(([name]) => !isGreater(name))) };
  };
}
