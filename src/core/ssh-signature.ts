import { createHash, createPublicKey, verify } from 'node:crypto';

const magic = 'SSHSIG';
const kind = 'ssh-ed25519';
/** The DER of an Ed25519 public key, up to its 32 bytes. */
const keyHead = Buffer.from('302a300506032b6570032100', 'hex');

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
  if (bytes.subarray(0, magic.length).toString('latin1') !== magic || bytes.length < magic.length + 4) return false;
  const fields = fieldsOf(bytes.subarray(magic.length + 4));
  const [key, named, reserved, hashName, signature] = fields;
  if (fields.length !== 5 || !key || !named || !reserved || !hashName || !signature) return false;
  const [algorithm, raw] = fieldsOf(signature);
  const isWanted =
    bytes.readUInt32BE(magic.length) === 1 &&
    key.equals(blobOf(publicKey)) &&
    String(named) === namespace &&
    String(algorithm) === kind;
  if (!isWanted || !raw || !['sha256', 'sha512'].includes(String(hashName))) return false;
  const digest = createHash(String(hashName)).update(message).digest();
  const signed = Buffer.concat([Buffer.from(magic), ...[named, reserved, hashName, digest].map(field)]);
  const der = Buffer.concat([keyHead, fieldsOf(key)[1] ?? Buffer.alloc(0)]);
  return verify(null, signed, createPublicKey({ key: der, format: 'der', type: 'spki' }), raw);
}

function blobOf(publicKey: string): Buffer {
  return Buffer.from(publicKey.split(' ')[1] ?? '', 'base64');
}

/** A field as SSH writes it: its length, then its bytes. */
function field(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The fields that bytes are made of; none where they are not. */
function fieldsOf(bytes: Buffer): Buffer[] {
  const fields: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : Infinity;
    if (end > bytes.length) return [];
    fields.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return fields;
}
