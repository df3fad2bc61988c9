import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { AppError } from '../core/errors.ts';
import { keyPath } from '../core/secret-key.ts';
import type { IdentifierKind } from '../contract/identity.ts';

/** The name of the key, in the data folder, of the fence's MACs. */
export const fenceKeyName = 'fence.key';

/**
 * Refuses to go on with a fence whose key is gone: nobody could be told from others any more, and a new key would let
 * everybody in again. Throws `storage`.
 */
export function refuseLostFenceKey(db: Database, dataDir: string): void {
  if (existsSync(keyPath(dataDir, fenceKeyName))) return;
  if (db.prepare<[], number>(/*sql*/ `SELECT EXISTS (SELECT 1 FROM fence)`).pluck().get() === 0) return;
  throw new AppError('the key of the fence is gone: keys/fence.key', {
    code: 'storage',
    hint: 'restore keys/ from the backup that belongs to this mirror.db; without it, erased people would be mirrored again',
  });
}

/**
 * Adds the SQL function `fence_mac(kind, value)`, so that no identifier has to leave SQLite to be held against the fence:
 * HMAC-SHA-256 under the fence key of kind, a zero byte, and value. `readKey` is asked once, when the function is first
 * called; without a key nothing was ever fenced, and the MAC is null.
 */
export function addFenceMac(db: Database, readKey: () => Buffer | undefined): void {
  let key: KeyObject | undefined;
  db.function('fence_mac', { deterministic: true }, (kind, value) => {
    // A key that is no KeyObject yet costs nine times as much as the MAC itself.
    key ??= keyObject(readKey());
    return key === undefined || value === null ? null : fenceMac(key, kind as IdentifierKind, String(value));
  });
}

function fenceMac(key: KeyObject, kind: IdentifierKind, value: string): Buffer {
  return createHmac('sha256', key).update(`${kind}\0${value}`).digest();
}

function keyObject(key: Buffer | undefined): KeyObject | undefined {
  return key && createSecretKey(key);
}
