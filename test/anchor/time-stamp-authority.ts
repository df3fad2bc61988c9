import { createHash, sign, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** DER, as far as a time stamp needs it. */
const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const digits = content.length.toString(16);
  const long = Buffer.from(digits.length % 2 === 1 ? `0${digits}` : digits, 'hex');
  const length =
    content.length < 0x80 ? Buffer.of(content.length) : Buffer.concat([Buffer.of(0x80 + long.length), long]);
  return Buffer.concat([Buffer.of(tag), length, content]);
};
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const integer = (hex: string): Buffer => der(0x02, Buffer.from(hex, 'hex'));

const digestOids = { sha256: '608648016503040201', sha384: '608648016503040202', sha512: '608648016503040203' };
const ecdsaOids = { sha256: '2a8648ce3d040302', sha384: '2a8648ce3d040303', sha512: '2a8648ce3d040304' };
const timeStampInfo = '2a864886f70d0109100104';

/** The text of a key or a certificate of the tests. They are no secret. */
export function testKey(file: string): string {
  return readFileSync(new URL(`keys/${file}`, import.meta.url), 'utf8');
}

/** How a token differs from the usual one: RSA, SHA-256, a certificate for time stamps of the tests' own root. */
export type TokenShape = {
  key?: 'authority' | 'authority-ec' | 'authority-p384' | 'authority-p521' | 'authority-other-curve';
  certificate?:
    | NonNullable<TokenShape['key']>
    | 'authority-loose'
    | 'authority-below'
    | 'authority-rogue'
    | `chain-${string}`;
  digest?: keyof typeof digestOids;
  /** In hex, without its sign: as a request has it. */
  nonce?: string | undefined;
  /** What the attributes say of the certificate: nothing, its SHA-1, its SHA-256, or the SHA-256 of another. */
  names?: 'nothing' | 'sha1' | 'sha256' | 'another';
  /** By how many seconds the authority may be wrong, as it says, in hex. */
  accuracy?: string;
  /** Certificates that the token carries besides. */
  carries?: readonly string[];
  /** Whether it is signed over other attributes than it has. */
  isForged?: boolean;
};

/** A token by which the tests' authority says that a text was there at a time, in milliseconds since 1970. */
export function timeStampToken(text: string | Uint8Array, atMs: number, shape: TokenShape = {}): Buffer {
  const imprint = createHash('sha256').update(text).digest();
  return tokenOver(imprint, atMs, shape);
}

function tokenOver(imprint: Buffer, atMs: number, shape: TokenShape): Buffer {
  const {
    key = 'authority',
    certificate = key,
    digest = 'sha256',
    nonce,
    names = 'sha256',
    carries = [],
    accuracy,
  } = shape;
  const raw = new X509Certificate(testKey(`${certificate}.pem`)).raw;
  const digestOf = (name: string, bytes: Uint8Array): Buffer => createHash(name).update(bytes).digest();
  const time = new Date(atMs).toISOString().replaceAll(/\D/g, '').slice(0, 14);
  const info = sequence(
    integer('01'),
    oid('2a0304'),
    sequence(sequence(oid(digestOids.sha256)), der(0x04, imprint)),
    integer('2a'),
    der(0x18, Buffer.from(`${time}Z`)),
    ...(accuracy === undefined ? [] : [sequence(integer(accuracy))]),
    ...(nonce === undefined ? [] : [integer(nonce)]),
  );
  const named = {
    nothing: [],
    sha1: [attribute('2a864886f70d010910020c', sequence(sequence(sequence(der(0x04, digestOf('sha1', raw))))))],
    sha256: [attribute('2a864886f70d010910022f', sequence(sequence(sequence(der(0x04, digestOf('sha256', raw))))))],
    another: [attribute('2a864886f70d010910022f', sequence(sequence(sequence(der(0x04, digestOf('sha256', info))))))],
  };
  const attributes = [
    attribute('2a864886f70d010903', oid(timeStampInfo)),
    attribute('2a864886f70d010904', der(0x04, digestOf(digest, info))),
    ...named[names],
  ];
  const algorithm = sequence(oid(digestOids[digest]), der(0x05));
  const signatureAlgorithm =
    key === 'authority' ? sequence(oid('2a864886f70d010101'), der(0x05)) : sequence(oid(ecdsaOids[digest]));
  const signed = shape.isForged === true ? attributes.slice(1) : attributes;
  const signer = sequence(
    integer('01'),
    sidOf(raw),
    algorithm,
    der(0xa0, ...attributes),
    signatureAlgorithm,
    der(0x04, sign(digest, der(0x31, ...signed), testKey(`${key}.key`))),
  );
  const others = carries.map((file) => new X509Certificate(testKey(file)).raw);
  const signedData = sequence(
    integer('03'),
    der(0x31, algorithm),
    sequence(oid(timeStampInfo), der(0xa0, der(0x04, info))),
    der(0xa0, raw, ...others),
    der(0x31, signer),
  );
  return sequence(oid('2a864886f70d010702'), der(0xa0, signedData));
}

function attribute(type: string, value: Uint8Array): Buffer {
  return sequence(oid(type), der(0x31, value));
}

/** The issuer and the number of a certificate of the tests. */
function sidOf(raw: Buffer): Buffer {
  const { issuer: name, serialNumber } = new X509Certificate(raw);
  const issuer = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name.replace('CN=', ''))))));
  return sequence(issuer, integer(serialNumber));
}

/** The answer of the tests' authority to a request: a token over the imprint that it asks for. */
export function timeStampReply(query: Uint8Array, atMs: number, shape: TokenShape = {}): Buffer {
  // A request of ours: version, imprint of SHA-256, nonce of eight bytes, and that certificates are wanted.
  const [, imprint = '', nonce = ''] =
    /0609608648016503040201(?:0500)?0420(.{64})0208(.{16})0101ff$/.exec(Buffer.from(query).toString('hex')) ?? [];
  if (imprint === '') return sequence(sequence(integer('02')));
  return sequence(sequence(integer('00')), tokenOver(Buffer.from(imprint, 'hex'), atMs, { nonce, ...shape }));
}
