import { createHash, createPublicKey, verify } from 'node:crypto';

/** The DER of an Ed25519 public key, up to its 32 bytes. */
const keyHead = Buffer.from('302a300506032b6570032100', 'hex');
const signatureBytes = 64;

/** The SHA-256 (hex) of a public key as a file of public keys has it: the key's fingerprint. */
export function sshFingerprint(publicKey: string): string {
  return createHash('sha256').update(blobOf(publicKey)).digest('hex');
}

/**
 * Whether a text is the signature of a message under a public key and a namespace, as `ssh-keygen -Y sign` writes it (SSHSIG version 1,
 * Ed25519 only). False for a text that is none.
 */
export function isSshSignature(
  armored: string,
  { message, namespace, publicKey }: { message: Buffer; namespace: string; publicKey: string },
): boolean {
  const [, body = ''] =
    /^-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\s*$/.exec(
      armored.replaceAll('\r', ''),
    ) ?? [];
  const bytes = Buffer.from(body, 'base64');
  const signature = bytes.subarray(-signatureBytes);
  const key = blobOf(publicKey);
  const der = joined([keyHead, key.subarray(-32)]);
  return ['sha512', 'sha256'].some((hash) => {
    // Of these parts, only the signature itself is not known beforehand.
    const about = [namespace, '', hash].map(field);
    const [kind, version] = [field('ssh-ed25519'), Buffer.from([0, 0, 0, 1])];
    const whole = ['SSHSIG', version, field(key), ...about, field(joined([kind, field(signature)]))];
    if (!joined(whole).equals(bytes)) return false;
    const signed = joined(['SSHSIG', ...about, field(createHash(hash).update(message).digest())]);
    return verify(null, signed, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature);
  });
}

function blobOf(publicKey: string): Buffer {
  return Buffer.from(publicKey.split(' ')[1] ?? '', 'base64');
}

function joined(parts: readonly (Buffer | string)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

/** A field as SSH writes it: its length, then its bytes. */
function field(content: Buffer | string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return joined([length, content]);
}
