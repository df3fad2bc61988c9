import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFile } from './atomic-file.ts';
import { AppError } from './errors.ts';
import { makeFolder, readWholeFile } from './folder.ts';

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** The folder of a data folder's keys. They are not in the database, so a copy of the database alone opens nothing. */
export function keyPath(dataDir: string, name: string): string {
  return join(dataDir, 'keys', name);
}

/** A data folder's random key of 32 bytes; undefined if it was never made. Throws `storage` if it is damaged. */
export function readKey(dataDir: string, name: string): Buffer | undefined {
  const path = keyPath(dataDir, name);
  if (!existsSync(path)) return undefined;
  const text = readWholeFile(path, 1024).toString().trim();
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex');
  throw new AppError(`the key ${path} is damaged`, {
    code: 'storage',
    hint: 'restore it from a backup; it cannot be made again',
  });
}

/** A data folder's random key of 32 bytes, made at its first use (folder 0700, file 0600), once for all processes. */
export function readOrMakeKey(dataDir: string, name: string): Buffer {
  const known = readKey(dataDir, name);
  if (known) return known;
  const path = keyPath(dataDir, name);
  makeFolder(dirname(path));
  // If another process has made the key meanwhile, its key must stay.
  createFile(path, `${randomBytes(keyBytes).toString('hex')}\n`);
  const made = readKey(dataDir, name);
  if (!made) throw new Error('a key that was just made is not there');
  return made;
}

/** What a derived key serves: one thing each. */
type Purpose = 'box encryption' | 'reasons' | 'fence on the ledger' | 'fence in the mirror' | 'fence of readers';

/** A key for one purpose (HKDF-SHA-256 without salt), so that a data folder's key itself serves none. */
export function derivedKey(key: Buffer, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `analytics-mirror ${purpose}`, keyBytes));
}

/**
 * Prepares the encryption of texts (AES-256-GCM, a key derived from a data folder's, read once, made at its first use). `about` is bound
 * in: a text opens with the same one only.
 */
export function textEncryption(dataDir: string, name: string): (about: string, text: string) => Buffer {
  const key = derivedKey(readOrMakeKey(dataDir, name), 'box encryption');
  return (about, text) => {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', key, nonce);
    cipher.setAAD(Buffer.from(about));
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  };
}

/**
 * Prepares the decryption of what `textEncryption` has encrypted. The key is read once, for the first text. Throws where key, text and
 * `about` do not belong together.
 */
export function textDecryption(dataDir: string, name: string): (about: string, sealed: Buffer) => string {
  let derived: Buffer | undefined;
  const read = (): Buffer => {
    const own = readKey(dataDir, name);
    if (!own) throw new Error('no key');
    return derivedKey(own, 'box encryption');
  };
  return (about, sealed) => {
    derived ??= read();
    const nonce = sealed.subarray(0, nonceBytes);
    const decipher = createDecipheriv('aes-256-gcm', derived, nonce, { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(about));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  };
}

/**
 * What encrypts MACs under a key, or decrypts them (hex): AES-256 of each half. Two blocks that are as good as random need no
 * mode and no nonce, so that a fence on the ledger can be compared with one that is not encrypted.
 */
export function macCipher(
  key: Buffer,
  direction: 'encrypt' | 'decrypt',
  purpose: 'fence on the ledger' | 'fence in the mirror' = 'fence on the ledger',
): (mac: string) => string {
  const make = direction === 'encrypt' ? createCipheriv : createDecipheriv;
  const cipher = make('aes-256-ecb', derivedKey(key, purpose), null).setAutoPadding(false);
  return (mac) => cipher.update(mac, 'hex', 'hex');
}

/** What the ledger holds instead of a reason: an HMAC-SHA-256 under a key derived from a data folder's, in hex. */
export function reasonMac(dataDir: string, name: string, reason: string): string {
  return createHmac('sha256', derivedKey(readOrMakeKey(dataDir, name), 'reasons'))
    .update(reason)
    .digest('hex');
}

/**
 * The check value of a key: 16 bytes (hex) of HMAC-SHA-256 under the key of a fixed text. It tells another key, and not the key
 * itself. Undefined where there is no key. Throws as `readKey` does.
 */
export function keyCheck(dataDir: string, name: string): string | undefined {
  const key = readKey(dataDir, name);
  return key && createHmac('sha256', key).update('key check').digest('hex').slice(0, 32);
}
