import { createHmac } from 'node:crypto';
import type { Mask } from '../config/settings.ts';
import { keyCheck, readOrMakeKey } from '../core/secret-key.ts';
import type { Manifest } from '../snapshot/manifest.ts';

/** A mask as a manifest names it: a property that is left out, or one that is hashed under the key with this check value. */
export type DecidedMask = Manifest['publication']['mask'][number];

/** What is published of a property in place of its value, which is never null. */
type Masking = (value: unknown) => string | null;

/** The masks of an export, by property. */
export type Masks = {
  readonly of: ReadonlyMap<string, Masking>;
  /** The check value of the key under which a property is hashed; undefined for a property that is not. */
  readonly hashedUnder: (property: string) => string | undefined;
  readonly decided: DecidedMask[];
};

/** The name of the key that hashes what is published. It serves nothing else. */
const maskKeyName = 'mask.key';

/** The check value of the key of the data folder that hashes what is published; undefined where it has none. */
export function maskKeyCheck(dataDir: string): string | undefined {
  return keyCheck(dataDir, maskKeyName);
}

/** Prepares masks. The first hashed property makes the key of the data folder. What is named as left out is left out, hashed or not. */
export function prepareMasks(masks: readonly Mask[], dataDir: string | undefined): Masks {
  const leftOut = new Set(masks.filter((mask) => typeof mask === 'string'));
  const named = masks.flatMap((mask) => (typeof mask === 'string' ? [] : mask.property));
  const hashed = new Set(named.filter((property) => !leftOut.has(property)));
  const of = new Map<string, Masking>([...leftOut].map((property) => [property, () => null]));
  if (hashed.size === 0) return { of, hashedUnder: () => undefined, decided: [...leftOut].toSorted() };
  if (dataDir === undefined) throw new Error('a hashed mask without a data folder');
  const key = readOrMakeKey(dataDir, maskKeyName);
  const check = maskKeyCheck(dataDir) ?? '';
  for (const property of hashed) of.set(property, (value) => hashOf(key, property, value));
  return {
    of,
    hashedUnder: (property) => (hashed.has(property) ? check : undefined),
    decided: [
      ...[...leftOut].toSorted(),
      ...[...hashed].toSorted().map((property) => ({ property, how: 'hash' as const, key: check })),
    ],
  };
}

/**
 * The published hash of a property's value: `h1:` and, in base64url, HMAC-SHA-256 of four texts, each in UTF-8 after its number of bytes
 * (8 bytes, the highest first): `analytics-mirror mask 1`, the property, `text` or `json`, and the value: a text as it is, any other
 * value as its JSON text.
 */
export function hashOf(key: Buffer, property: string, value: unknown): string {
  const isText = typeof value === 'string';
  const hmac = createHmac('sha256', key);
  for (const part of [
    'analytics-mirror mask 1',
    property,
    isText ? 'text' : 'json',
    isText ? value : JSON.stringify(value),
  ]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(Buffer.byteLength(part)));
    hmac.update(length).update(part);
  }
  return `h1:${hmac.digest('base64url')}`;
}
