import { hash, verify, X509Certificate } from 'node:crypto';
import type { AsnType, Sequence } from 'asn1js';
import type { AlgorithmIdentifier, ExtKeyUsage } from 'pkijs';
import { asn1Api } from './asn1.ts';

/** A time stamp (RFC 3161): that a text with this SHA-256 (hex) was there at a time, in seconds since 1970. */
export type TimeStamp = {
  imprint: string;
  time: number;
  nonce: Buffer | undefined;
  /** Whether its certificate is one of these, or was issued by one of them, each of the chain being valid at its time. */
  isTrustedBy(trusted: readonly X509Certificate[]): boolean;
};

const oids = {
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  extendedKeyUsage: '2.5.29.37',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  timeStampInfo: '1.2.840.113549.1.9.16.1.4',
};
const digests: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};
/** By the algorithm of a signature: the kind of key, and the digest where the algorithm has one of its own. */
const signatureAlgorithms: Readonly<Record<string, { kind: string; digest?: string }>> = {
  '1.2.840.113549.1.1.1': { kind: 'rsa' },
  '1.2.840.113549.1.1.11': { kind: 'rsa', digest: 'sha256' },
  '1.2.840.113549.1.1.12': { kind: 'rsa', digest: 'sha384' },
  '1.2.840.113549.1.1.13': { kind: 'rsa', digest: 'sha512' },
  '1.2.840.10045.4.3.2': { kind: 'ec', digest: 'sha256' },
  '1.2.840.10045.4.3.3': { kind: 'ec', digest: 'sha384' },
  '1.2.840.10045.4.3.4': { kind: 'ec', digest: 'sha512' },
};
/** What names the signer's certificate (RFC 2634, RFC 5035), and the digest that it does it with where it names none. */
const certificateNames: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.9.16.2.12': 'sha1',
  '1.2.840.113549.1.9.16.2.47': 'sha256',
};

/** The request (DER) for a time stamp over a SHA-256. The nonce is a positive integer. */
export function timeStampQuery(imprint: Buffer, nonce: Buffer): Buffer {
  const { asn1, pki } = asn1Api();
  const query = new pki.TimeStampReq({
    version: 1,
    messageImprint: new pki.MessageImprint({
      hashAlgorithm: new pki.AlgorithmIdentifier({ algorithmId: '2.16.840.1.101.3.4.2.1' }),
      hashedMessage: new asn1.OctetString({ valueHex: imprint }),
    }),
    nonce: new asn1.Integer({ valueHex: nonce }),
    certReq: true,
  });
  return Buffer.from(query.toSchema().toBER());
}

/** The token (DER) in an authority's reply; undefined where it grants none, or is no reply. */
export function tokenOfReply(reply: Buffer): Buffer | undefined {
  const { PKIStatus, TimeStampResp } = asn1Api().pki;
  return attempt(() => {
    const { status, timeStampToken } = TimeStampResp.fromBER(reply);
    const [, token] = partsOf(whole(reply));
    const isGranted = [PKIStatus.granted, PKIStatus.grantedWithMods].includes(status.status);
    return timeStampToken && token && isGranted ? bytesOf(token) : undefined;
  });
}

/**
 * The time stamp in the bytes of a token, in itself right: signed by the certificate that it carries, which may sign nothing
 * but time stamps. Undefined for any other bytes.
 */
export function readTimeStamp(token: Buffer): TimeStamp | undefined {
  const { ContentInfo, SignedData, TSTInfo } = asn1Api().pki;
  return attempt(() => {
    const [, content] = partsOf(whole(token));
    const { contentType, content: signedContent } = ContentInfo.fromBER(token);
    const signed = new SignedData({ schema: signedContent });
    const { signerInfos, encapContentInfo, digestAlgorithms } = signed;
    const [signer] = signerInfos;
    const info = Buffer.from(encapContentInfo.eContent?.getValue() ?? new ArrayBuffer(0));
    const isStamp = contentType === ContentInfo.SIGNED_DATA && encapContentInfo.eContentType === oids.timeStampInfo;
    if (!isStamp || !signer?.signedAttrs || signerInfos.length > 1 || signed.version !== 3 || signer.version !== 1)
      return undefined;
    const digest = digests[algorithmOf(signer.digestAlgorithm)];
    const { kind, digest: own = digest } = signatureAlgorithms[algorithmOf(signer.signatureAlgorithm)] ?? {};
    const isNamed = digestAlgorithms.some((each) => algorithmOf(each) === algorithmOf(signer.digestAlgorithm));
    if (digest === undefined || digest === 'sha1' || own !== digest || !isNamed) return undefined;

    const attributes = new Map(signer.signedAttrs.attributes.map(({ type, values }) => [type, values as AsnType[]]));
    if (attributes.size < signer.signedAttrs.attributes.length) return undefined;
    const only = (type: string): AsnType => single(attributes.get(type));
    const saidType = only(oids.contentType).valueBlock as unknown as { toString(): string };
    if (saidType.toString() !== oids.timeStampInfo) return undefined;
    if (!digestOf(digest, info).equals(octetsOf(only(oids.messageDigest)))) return undefined;

    const carried = certificatesIn(content).map((raw) => new X509Certificate(raw));
    const certificate = carried.find(({ raw }) => isNamedBy(signer.sid, raw));
    if (!certificate || certificate.publicKey.asymmetricKeyType !== kind) return undefined;
    if (!isForTimeStamps(certificate.raw)) return undefined;
    const names = Object.keys(certificateNames).filter((type) => attributes.has(type));
    if (names.length === 0 || !names.every((type) => isHashed(certificate.raw, type, only(type)))) return undefined;
    const set = Buffer.from(signer.signedAttrs.encodedValue);
    if (!verify(digest, set, certificate.publicKey, Buffer.from(signer.signature.getValue()))) return undefined;

    const stamp = TSTInfo.fromBER(info);
    if (stamp.version !== 1 || digests[algorithmOf(stamp.messageImprint.hashAlgorithm)] !== 'sha256') return undefined;
    const time = Math.floor(stamp.genTime.getTime() / 1000);
    return {
      imprint: Buffer.from(stamp.messageImprint.hashedMessage.getValue()).toString('hex'),
      time,
      nonce: stamp.nonce && Buffer.from(stamp.nonce.valueBlock.valueHexView),
      isTrustedBy: (trusted) => isTrusted(certificate, { carried, trusted, timeMs: time * 1000 }),
    };
  });
}

/** Reads what a stranger has made: any error means that it is not what it should be. */
function attempt<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The one element that bytes consist of, in its one spelling: the library takes lengths that contradict each other. */
function whole(bytes: Buffer): AsnType {
  const { result } = asn1Api().asn1.fromBER(bytes);
  if (!Buffer.from(result.toBER()).equals(bytes)) throw new Error('not one element');
  return result;
}

function partsOf(element: AsnType | undefined): AsnType[] {
  return (element as Sequence).valueBlock.value;
}

/** The bytes of an element as they stand in what was read. */
function bytesOf(element: AsnType): Buffer {
  return Buffer.from(element.valueBeforeDecodeView);
}

function single(elements: readonly AsnType[] | undefined): AsnType {
  const [element] = elements ?? [];
  if (!element || elements?.length !== 1) throw new Error('not one value');
  return element;
}

function octetsOf(element: AsnType | undefined): Buffer {
  if (!(element instanceof asn1Api().asn1.OctetString)) throw new Error('no octets');
  return Buffer.from(element.getValue());
}

function digestOf(digest: string, bytes: Buffer): Buffer {
  return hash(digest, bytes, 'buffer');
}

/** The name of an algorithm, without parameters or with none (NULL). */
function algorithmOf({ algorithmId, algorithmParams }: AlgorithmIdentifier): string {
  const parameters = algorithmParams as AsnType | undefined;
  if (parameters && !bytesOf(parameters).equals(Buffer.of(5, 0))) throw new Error('parameters');
  return algorithmId;
}

/** The certificates that signed data carry. */
function certificatesIn(content: AsnType | undefined): Buffer[] {
  const carried = partsOf(partsOf(content)[0]).find(({ idBlock }) => idBlock.tagClass === 3 && idBlock.tagNumber === 0);
  return partsOf(carried).map(bytesOf);
}

function isNamedBy(sid: unknown, raw: Buffer): boolean {
  const { Certificate, IssuerAndSerialNumber } = asn1Api().pki;
  const { issuer, serialNumber } = Certificate.fromBER(raw);
  return (
    sid instanceof IssuerAndSerialNumber &&
    Buffer.from(issuer.valueBeforeDecode).equals(Buffer.from(sid.issuer.valueBeforeDecode)) &&
    bytesOf(serialNumber).equals(bytesOf(sid.serialNumber))
  );
}

/** Whether a certificate may sign time stamps and nothing else, and says so critically (RFC 3161, 2.3). */
function isForTimeStamps(raw: Buffer): boolean {
  const uses = (asn1Api().pki.Certificate.fromBER(raw).extensions ?? []).filter(
    ({ extnID }) => extnID === oids.extendedKeyUsage,
  );
  const purposes = (uses[0]?.parsedValue as ExtKeyUsage | undefined)?.keyPurposes;
  return uses.length === 1 && uses[0]?.critical === true && purposes?.join() === oids.timeStamping;
}

/** Whether an attribute that names the signer's certificate names this one. */
function isHashed(raw: Buffer, type: string, attribute: AsnType): boolean {
  const [first, second] = partsOf(partsOf(partsOf(attribute)[0])[0]);
  const { asn1, pki } = asn1Api();
  const algorithm = first instanceof asn1.Sequence ? new pki.AlgorithmIdentifier({ schema: first }) : undefined;
  const digest = algorithm ? digests[algorithmOf(algorithm)] : certificateNames[type];
  return digest !== undefined && digestOf(digest, raw).equals(octetsOf(algorithm ? second : first));
}

/** No chain of a real authority is near as long. */
const chainMax = 8;

function isTrusted(
  certificate: X509Certificate,
  facts: { carried: readonly X509Certificate[]; trusted: readonly X509Certificate[]; timeMs: number },
): boolean {
  const { carried, trusted, timeMs } = facts;
  let present = certificate;
  for (let depth = 0; depth < chainMax; depth += 1) {
    const { validFromDate, validToDate, raw } = present;
    if (timeMs < validFromDate.getTime() || timeMs > validToDate.getTime()) return false;
    if (trusted.some((other) => other.raw.equals(raw))) return true;
    const below = present;
    const isIssuer = (other: X509Certificate): boolean =>
      other.ca && below.checkIssued(other) && below.verify(other.publicKey) && !other.raw.equals(raw);
    const issuer = trusted.find(isIssuer) ?? carried.find(isIssuer);
    if (!issuer) return false;
    present = issuer;
  }
  return false;
}
