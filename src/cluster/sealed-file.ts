import {
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress, zstdCompressSync } from 'node:zlib';
import { AppError, usageError } from '../core/errors.ts';

const magic = Buffer.from('AMCLSTR1');
const saltBytes = 32;
const checkBytes = 16;
const tagBytes = 16;
const headBytes = magic.length + saltBytes + checkBytes;

/** A key, and what it seals: a file opens with the same key, in the same place, only. */
export type Seal = { key: Buffer; about: string };

/**
 * Compresses (zstd) and encrypts (AES-256-GCM) what comes into a file, for its owner only, in constant memory. Each file has keys of
 * its own, derived from a random salt, so that no nonce comes twice.
 */
export async function sealFile(content: AsyncIterable<Buffer>, to: string, seal: Seal): Promise<void> {
  const { head, cipher } = begin(seal);
  await pipeline(
    content,
    createZstdCompress(),
    async function* (compressed: AsyncIterable<Buffer>) {
      yield head;
      for await (const chunk of compressed) yield cipher.update(chunk);
      yield Buffer.concat([cipher.final(), cipher.getAuthTag()]);
    },
    createWriteStream(to, { mode: 0o600 }),
  );
}

/** Does to a few bytes as `sealFile` does, at once. */
export function sealBytes(content: Buffer, seal: Seal): Buffer {
  const { head, cipher } = begin(seal);
  return Buffer.concat([head, cipher.update(zstdCompressSync(content)), cipher.final(), cipher.getAuthTag()]);
}

function begin(seal: Seal): { head: Buffer; cipher: CipherGCM } {
  const salt = randomBytes(saltBytes);
  const { key, nonce, check } = keysOf(seal, salt);
  const head = Buffer.concat([magic, salt, check]);
  return { head, cipher: createCipheriv('aes-256-gcm', key, nonce).setAAD(head) };
}

/**
 * Opens a sealed file: `read` gets its content once all of it is known to be genuine. `clear`: the path for it until then, where
 * nothing may stand. Throws `usage` for another key, and `storage` for a file that is damaged, or was sealed for another place.
 */
export async function openSealed<T>(
  { from, clear }: { from: string; clear: string },
  seal: Seal,
  read: (content: Readable) => Promise<T>,
): Promise<T> {
  const { head, tag, end } = await readEnds(from);
  const { key, nonce, check } = keysOf(seal, head.subarray(magic.length, magic.length + saltBytes));
  if (head.length < headBytes || end < headBytes || !head.subarray(0, magic.length).equals(magic)) throw damaged();
  if (!timingSafeEqual(check, head.subarray(-checkBytes)))
    throw usageError(
      'cluster.key is not the key with which the state in the bucket was encrypted',
      'give MIRROR_CLUSTER_KEY (or MIRROR_CLUSTER_KEY_FILE) the key that all machines of the cluster have',
    );
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(head).setAuthTag(tag);
  const file = createWriteStream(clear, { flags: 'wx', mode: 0o600 });
  try {
    if (end > headBytes) await pipeline(createReadStream(from, { start: headBytes, end: end - 1 }), decipher, file);
  } catch (error) {
    // The system's errors have codes of their own.
    throw /^E[A-Z]+$/.test(String((error as { code?: unknown }).code)) ? error : damaged();
  }
  const content = createZstdDecompress();
  const [result] = await Promise.all([read(content), pipeline(createReadStream(clear), content)]);
  return result;
}

async function readEnds(path: string): Promise<{ head: Buffer; tag: Buffer; end: number }> {
  await using file = await open(path);
  const end = (await file.stat()).size - tagBytes;
  if (end < headBytes) throw damaged();
  const [head, tag] = [Buffer.alloc(headBytes), Buffer.alloc(tagBytes)];
  await file.read(head, 0, headBytes, 0);
  await file.read(tag, 0, tagBytes, end);
  return { head, tag, end };
}

function keysOf({ key, about }: Seal, salt: Buffer): { key: Buffer; nonce: Buffer; check: Buffer } {
  const derived = (purpose: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', key, salt, `analytics-mirror cluster ${purpose}`, bytes));
  return {
    key: derived(`key ${about}`, 32),
    nonce: derived(`nonce ${about}`, 12),
    // Of the key alone, so that another place shows as damage, and another key as that.
    check: createHmac('sha256', derived('check', 32)).update(salt).digest().subarray(0, checkBytes),
  };
}

function damaged(): AppError {
  return new AppError('the state in the bucket is damaged, or belongs to another project', {
    code: 'storage',
    hint: 'see who else writes to cluster.storage; docs/cluster.md says what to do when the bucket is lost',
  });
}
