import type { Database } from 'better-sqlite3';
import { transact } from './transact.ts';

/** A published column, and its number for ever: table formats know columns by numbers. The elements of a list have one too. */
export type NumberedField<Type extends string> = { name: string; type: Type; id: number; element_id?: number };

type Kept = { id: number; name: string; type: string; elementId: number | null; isRetired: number };

/**
 * Numbers the columns of a dataset. A column keeps its number. A new column, one of another type and one that was away for a
 * time get numbers that none has ever had, so that an older file never means something else. `lastPublished`: the greatest number
 * in the files that there are. It is asked for where a column is new: an older copy of the mirror knows fewer numbers.
 */
export function numberFields<Type extends string>(
  db: Database,
  dataset: string,
  columns: readonly { readonly name: string; readonly type: Type }[],
  lastPublished: () => number,
): NumberedField<Type>[] {
  const kept = db
    .prepare<[string], Kept>(
      /*sql*/ `SELECT id, name, type, element_id AS elementId, is_retired AS isRetired FROM published_fields WHERE dataset = ?`,
    )
    .all(dataset);
  const live = kept.filter(({ isRetired }) => isRetired === 0);
  const known = (column: { name: string; type: string }): Kept | undefined =>
    live.find(({ name, type }) => name === column.name && type === column.type);
  const isComplete = columns.every((column) => known(column));
  let last = Math.max(isComplete ? 0 : lastPublished(), ...kept.map(({ id, elementId }) => elementId ?? id));
  const numbered = columns.map(({ name, type }) => {
    const { id, elementId } = known({ name, type }) ?? {
      id: (last += 1),
      elementId: type.startsWith('list<') ? (last += 1) : null,
    };
    return { name, type, id, ...(elementId === null ? {} : { element_id: elementId }) };
  });
  const added = numbered.filter((column) => !known(column));
  const ids = new Set(numbered.map(({ id }) => id));
  const gone = live.filter(({ id }) => !ids.has(id));
  if (added.length + gone.length === 0) return numbered;
  transact(db, () => {
    const retire = db.prepare(/*sql*/ `UPDATE published_fields SET is_retired = 1 WHERE dataset = ? AND id = ?`);
    for (const { id } of gone) retire.run(dataset, id);
    const add = db.prepare(
      /*sql*/ `INSERT INTO published_fields (dataset, id, name, type, element_id) VALUES (?, ?, ?, ?, ?)`,
    );
    for (const { name, type, id, element_id: elementId } of added) add.run(dataset, id, name, type, elementId ?? null);
  });
  return numbered;
}

/** Whether columns were ever numbered, which an export does first: if not, this mirror has published nothing. */
export function hasNumberedFields(db: Database): boolean {
  return db.prepare(/*sql*/ `SELECT 1 FROM published_fields LIMIT 1`).get() !== undefined;
}
