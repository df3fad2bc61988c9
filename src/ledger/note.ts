import { createPrivateKey, createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';

// Ed25519 keys as DER (RFC 8410), up to the 32 bytes of the key itself.
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');
/** The types of signatures: Ed25519 over the text of a note, and a witness's cosignature (https://c2sp.org/tlog-cosignature). */
const signatureTypes = { note: Buffer.of(1), cosignature: Buffer.of(4) };
type SignatureType = keyof typeof signatureTypes;
const keyBytes = 32;
const signatureBytes = 64;
/** A cosignature begins with its time. */
const timeBytes = 8;

/** Who verifies: a name, and a raw Ed25519 public key. */
export type VerifierKey = { name: string; publicKey: Buffer };

/** Who signs: a name, and an Ed25519 private key, or what signs with one that is elsewhere. */
export type SignerKey = { name: string } & (
  | { privateKey: KeyObject }
  | { publicKey: Buffer; sign: (content: Buffer) => Buffer }
);

/** The key that verifies what a signer signs. */
export function verifierOf(signer: SignerKey): VerifierKey {
  return { name: signer.name, publicKey: 'sign' in signer ? signer.publicKey : publicKeyOf(signer.privateKey) };
}

/** A signature over bytes, by a signer. */
export function signatureOf(content: Buffer, signer: SignerKey): Buffer {
  return 'sign' in signer ? signer.sign(content) : signBytes(content, signer.privateKey);
}

/** The private key of 32 random bytes. */
export function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
}

/** The raw public key of a private one. */
export function publicKeyOf(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-keyBytes);
}

/** The id of a key: the first four bytes of SHA-256 of name, newline, signature type and public key. */
function keyId({ name, publicKey }: VerifierKey, type: SignatureType): Buffer {
  const parts = [Buffer.from(`${name}\n`), signatureTypes[type], publicKey];
  return hash('sha256', Buffer.concat(parts), 'buffer').subarray(0, 4);
}

/** A key as the text that tools for signed notes take: `<name>+<id in hex>+<base64 of type and key>`. */
export function vkeyOf(key: VerifierKey, type: SignatureType = 'note'): string {
  const encoded = Buffer.concat([signatureTypes[type], key.publicKey]).toString('base64');
  return `${key.name}+${keyId(key, type).toString('hex')}+${encoded}`;
}

/** The key of a vkey text; undefined when it is none, in its one spelling. */
export function readVkey(text: string, type: SignatureType = 'note'): VerifierKey | undefined {
  const [, name, encoded] = /^([^+\s]+)\+[0-9a-f]{8}\+([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
  if (name === undefined || encoded === undefined) return undefined;
  const key = { name, publicKey: Buffer.from(encoded, 'base64').subarray(1) };
  return key.publicKey.length === keyBytes && vkeyOf(key, type) === text ? key : undefined;
}

/** A signature over bytes. */
export function signBytes(content: Buffer, privateKey: KeyObject): Buffer {
  return sign(null, content, privateKey);
}

/** Whether a signature over bytes is by that key. */
export function isSignedBy(content: Buffer, signature: Buffer, { publicKey }: VerifierKey): boolean {
  const key = createPublicKey({ key: Buffer.concat([spkiPrefix, publicKey]), format: 'der', type: 'spki' });
  return verify(null, content, key, signature);
}

/** A text, which ends in a newline, as a signed note (https://c2sp.org/signed-note) with one signature. */
export function signNote(text: string, signer: SignerKey): string {
  const id = keyId(verifierOf(signer), 'note');
  const signature = Buffer.concat([id, signatureOf(Buffer.from(text), signer)]);
  return `${text}\n— ${signer.name} ${signature.toString('base64')}\n`;
}

/** A note taken apart. `signatures` are as they stand: nothing is verified. */
export type Note = { text: string; signatures: { name: string; signature: Buffer }[] };

/** The parts of a signed note; undefined when it is none, in its one spelling. */
export function readNote(note: string): Note | undefined {
  const end = note.lastIndexOf('\n\n') + 1;
  if (end === 0 || !note.endsWith('\n')) return undefined;
  const lines = note.slice(end + 1, -1).split('\n');
  const signatures = lines.map((line) => {
    const [, name, encoded] = /^— ([^+\s]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? [];
    const signature = Buffer.from(encoded ?? '', 'base64');
    return name !== undefined && signature.toString('base64') === encoded ? { name, signature } : undefined;
  });
  const whole = signatures.filter((signature) => signature !== undefined);
  return whole.length === lines.length ? { text: note.slice(0, end), signatures: whole } : undefined;
}

/** The signatures of a note that say to be of a key, without the key's id. None is verified. */
function ownSignatures({ signatures }: Note, key: VerifierKey, type: SignatureType): Buffer[] {
  const id = keyId(key, type);
  return signatures
    .filter(({ name, signature }) => name === key.name && signature.subarray(0, 4).equals(id))
    .map(({ signature }) => signature.subarray(4));
}

/** Whether a note has a signature of that key, and each one that says so is. Signatures of others are left aside. */
export function isNoteSignedBy(note: Note, key: VerifierKey): boolean {
  const own = ownSignatures(note, key, 'note');
  const isGood = (signature: Buffer): boolean =>
    signature.length === signatureBytes && isSignedBy(Buffer.from(note.text), signature, key);
  return own.length > 0 && own.every(isGood);
}

/** Whether a text is a note with a signature of that key, as `isNoteSignedBy` judges it. */
export function isSignedText(text: string, key: VerifierKey): boolean {
  const note = readNote(text);
  return note !== undefined && isNoteSignedBy(note, key);
}

/**
 * When a witness says to have cosigned a note, in seconds since 1970, the earliest time where it did so more than once;
 * undefined where it did not, and `bad_cosignature` where a line that says to be its own is not.
 */
export function cosignedAt(note: Note, witness: VerifierKey): number | 'bad_cosignature' | undefined {
  const times = ownSignatures(note, witness, 'cosignature').map((signature) => {
    const time = signature.length === timeBytes + signatureBytes ? Number(signature.readBigUInt64BE()) : NaN;
    const cosigned = Buffer.from(`cosignature/v1\ntime ${time}\n${note.text}`);
    const isGood = Number.isSafeInteger(time) && isSignedBy(cosigned, signature.subarray(timeBytes), witness);
    return isGood ? time : undefined;
  });
  const good = times.filter((time) => time !== undefined);
  if (good.length < times.length) return 'bad_cosignature';
  return good.length === 0 ? undefined : Math.min(...good);
}
