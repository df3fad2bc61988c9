import { AppError, type ErrorDetail } from '../core/errors.ts';

/** The finding of an error that says that a lock is the reason. */
export const objectLocked = 'object_locked';

/** What failed, where. `operation` is the right that it needs, as policies spell it. */
type Attempted = { operation: string; location: string };

type Kind = 'credentials' | 'key' | 'region' | 'bucket' | 'clock' | 'bytes' | 'silent';

/** Words and code of an error that the SDK or the store names, by that name. */
const known: Readonly<Record<Kind, (attempted: Attempted) => [message: string, detail: ErrorDetail]>> = {
  credentials: ({ location }) => [
    `there are no credentials for ${location}`,
    { code: 'usage', hint: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run it under a role' },
  ],
  key: ({ location }) => [
    `the store of ${location} refuses the credentials`,
    { code: 'refused', hint: 'give it a key that is valid, and a session that has not ended', status: 403 },
  ],
  region: ({ location }) => [
    `${location} is in another region`,
    { code: 'usage', hint: 'set export.s3.region to the region of the bucket' },
  ],
  bucket: ({ location }) => [
    `there is no bucket for ${location}`,
    { code: 'usage', hint: 'make the bucket, or set export.destination to one that is there' },
  ],
  clock: ({ location }) => [
    `the clock of this machine is too far from that of the store of ${location}`,
    { code: 'refused', hint: 'set the clock of this machine right, or that of the store', status: 403 },
  ],
  bytes: ({ location }) => [
    `the store of ${location} received other bytes than were published`,
    { code: 'storage', hint: 'run `analytics-mirror doctor`: a published file may be damaged' },
  ],
  silent: ({ location, operation }) => [
    `the store of ${location} does not answer (${operation})`,
    { code: 'unreachable', hint: 'see that the address is right and the store runs', retryable: true },
  ],
};

const kinds: Readonly<Record<string, Kind>> = {
  CredentialsProviderError: 'credentials',
  TokenProviderError: 'credentials',
  InvalidAccessKeyId: 'key',
  SignatureDoesNotMatch: 'key',
  ExpiredToken: 'key',
  InvalidToken: 'key',
  TokenRefreshRequired: 'key',
  PermanentRedirect: 'region',
  AuthorizationHeaderMalformed: 'region',
  IllegalLocationConstraintException: 'region',
  NoSuchBucket: 'bucket',
  RequestTimeTooSkewed: 'clock',
  BadDigest: 'bytes',
  XAmzContentSHA256Mismatch: 'bytes',
  XAmzContentChecksumMismatch: 'bytes',
};

/**
 * An error of the SDK as one of this program's. Its own message is left out: it can hold addresses, keys and signatures. A
 * status of 404 or 412 is an answer that callers look at.
 */
export function explainBucketError(error: unknown, attempted: Attempted): AppError {
  if (error instanceof AppError) return error;
  const { name, status, region, isLock } = factsOf(error);
  const kind = kinds[name] ?? (status === 301 || region ? 'region' : undefined);
  const { location, operation } = attempted;
  if (kind !== undefined) return new AppError(...known[kind](attempted));
  if (status === undefined) return new AppError(...known.silent(attempted));
  if (status === 404 || status === 412)
    return new AppError(`${location} has something else at that name (${operation})`, { code: 'busy', status });
  if (status === 401 || status === 403)
    return new AppError(`${location} refuses ${operation}`, {
      code: 'refused',
      hint: `allow ${operation} to the credentials of this program; docs/bucket.md has the policy`,
      status,
      ...(isLock ? { finding: objectLocked } : {}),
    });
  // 409: two conditional requests at once, of which the store wants this one repeated.
  const retryable = status >= 500 || status === 429 || status === 409 || status === 408 || name === 'RequestTimeout';
  const answer = status < 300 ? 'something that cannot be read' : String(status);
  return new AppError(`the store of ${location} answers ${operation} with ${answer}`, {
    code: status === 501 ? 'rejected' : 'service',
    hint: status === 501 ? 'use a store that knows this request' : 'try again later',
    retryable: retryable && status !== 501,
    status,
  });
}

function factsOf(error: unknown): { name: string; status: number | undefined; region: boolean; isLock: boolean } {
  if (!(error instanceof Error)) return { name: '', status: undefined, region: false, isLock: false };
  const { $metadata: metadata } = error as { $metadata?: { httpStatusCode?: number } };
  // Neither has a name of its own.
  return {
    name: error.name,
    status: metadata?.httpStatusCode,
    region: error.message.startsWith('Region is missing'),
    isLock: /\bobject lock\b/i.test(error.message),
  };
}
