import { createHmac } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import type { IdentifierKind } from '../contract/identity.ts';

/** The name of the key, in the data folder, of the fence's MACs. */
export const fenceKeyName = 'fence.key';

/** What the fence holds instead of an identifier: HMAC-SHA-256 under the fence key of kind, a zero byte, and value. */
export function fenceMac(key: Buffer, kind: IdentifierKind, value: string): Buffer {
  return createHmac('sha256', key).update(`${kind}\0${value}`).digest();
}

/**
 * Adds the SQL function `fence_mac(kind, value)`, so that no identifier has to leave SQLite to be held against the fence.
 * `readKey` is asked once, when the function is first called; without a key nothing was ever fenced, and the MAC is null.
 */
export function addFenceMac(db: Database, readKey: () => Buffer | undefined): void {
  let key: Buffer | undefined;
  db.function('fence_mac', { deterministic: true }, (kind, value) => {
    key ??= readKey();
    return key === undefined || value === null ? null : fenceMac(key, kind as IdentifierKind, String(value));
  });
}
