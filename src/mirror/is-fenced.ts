import type { Database } from 'better-sqlite3';
import type { IdentifierKind } from '../contract/identity.ts';

/** Prepares the question whether an identifier is fenced. Undefined while the fence is empty. */
export function prepareIsFenced(
  db: Database,
): ((kind: IdentifierKind, value: string) => boolean) | undefined {
  if (db.prepare<[], number>(/*sql*/ `SELECT EXISTS (SELECT 1 FROM fence)`).pluck().get() === 0)
    return undefined;
  const find = db
    .prepare<[string, string, string], number>(
      /*sql*/ `SELECT EXISTS (SELECT 1 FROM fence WHERE kind = ? AND mac = fence_mac(?, ?))`,
    )
    .pluck();
  return (kind, value) => find.get(kind, kind, value) === 1;
}
