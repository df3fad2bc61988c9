/** `where`: `entry 17` (from 0), `checkpoint 000000120`, `public keys`, … `problem`: a code of VERDICTS.md. */
export type Place = { where: string; problem: string };
export type LaterWord = { seq: number; at: string; says: string };
/** Certificates by their names, with the later words about them. */
type Later = { later?: [name: string, words: LaterWord[]][] };

export type Verdict = Later & {
  ok: boolean;
  size: number;
  rootHash: string;
  checkpoints: number;
  signed: number;
  problems: Place[];
  warnings: Place[];
  consumers?: [name: string, consumer: string, acknowledgedAt: string | undefined, seen: object[]][];
};
export declare function verify(task: {
  folder: string;
  publicKey?: string | undefined;
  checkpoint?: string | undefined;
  receipt?: string | undefined;
  certificates?: Readonly<Record<string, Uint8Array>>;
  policy?: string | undefined;
  now?: number | undefined;
}): Verdict;

/** A bundle as it was read, nothing of it verified. */
export type Bundle = {
  certificate: string;
  entries: { line: string; proof: string }[];
  public_keys: string;
  time_stamps?: string[];
};

/** The bundle that a text is, or that the page of a certificate carries; undefined where there is none. */
export declare function readBundle(text: string): Bundle | undefined;

export type BundleVerdict = Omit<Later, 'later'> & {
  ok: boolean;
  entries: number;
  problems: Place[];
  warnings: Place[];
  later?: LaterWord[];
};
export declare function verifyBundle(task: {
  text: string;
  publicKey?: string | undefined;
  policy?: string | undefined;
}): BundleVerdict;

/** What is wrong with record after record; undefined where nothing is. */
export declare function recordOrder(): (record: object) => string | undefined;

export declare function readPolicy(text: string): object;
/** A certificate (RFC 5280) of an authority, or one that it issued. */
export type AuthorityCertificate = { raw: Buffer };
export declare function readCertificates(pem: string): AuthorityCertificate[];

/** A time stamp (RFC 3161): that a text with this SHA-256 (hex) was there at a time, in seconds since 1970. */
export type TimeStamp = {
  imprint: string;
  time: number;
  nonce: Buffer | undefined;
  certificate: AuthorityCertificate;
  carried: AuthorityCertificate[];
};
export declare function readTimeStamp(token: Uint8Array): TimeStamp | undefined;
export declare function isTrusted(stamp: TimeStamp, trusted: readonly AuthorityCertificate[]): boolean;
export declare function derParts(bytes: Uint8Array, shape: string): (Buffer | undefined)[];
