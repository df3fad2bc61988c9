import type { Database } from 'better-sqlite3';
import type { IdentifierKind } from '../contract/identity.ts';

/** Prepares the question whether an identifier is fenced. */
export function prepareIsFenced(db: Database): (kind: IdentifierKind, value: string) => boolean {
  const find = db
    .prepare<[string, string, string], number>(
      /*sql*/ `SELECT EXISTS (SELECT 1 FROM fence WHERE kind = ? AND mac = fence_mac(?, ?))`,
    )
    .pluck();
  return (kind, value) => find.get(kind, kind, value) === 1;
}
