import { describe, expect, it, vi } from 'vitest';
import { explainBucketError } from '../../src/bucket/bucket-error.ts';
import type { AppError } from '../../src/core/errors.ts';
import { follow, freshModel, freshScene, modelBucket } from './follow-world.ts';

function explained(name: string, status?: number): AppError {
  const error = Object.assign(new Error('AKIDSECRET https://x/?X-Amz-Signature=abc'), {
    name,
    ...(status === undefined ? {} : { $metadata: { httpStatusCode: status } }),
  });
  return explainBucketError(error, { operation: 's3:ListBucketVersions', location: 's3://bucket/mirror' });
}

describe('an error of a store', () => {
  it.each([
    ['CredentialsProviderError', undefined, 'usage', /no credentials for s3:\/\/bucket\/mirror/],
    ['InvalidAccessKeyId', 403, 'refused', /refuses the credentials/],
    ['ExpiredToken', 400, 'refused', /refuses the credentials/],
    ['PermanentRedirect', 301, 'usage', /another region/],
    ['AuthorizationHeaderMalformed', 400, 'usage', /another region/],
    ['NoSuchBucket', 404, 'usage', /no bucket/],
    ['RequestTimeTooSkewed', 403, 'refused', /clock/],
    ['AccessDenied', 403, 'refused', /refuses s3:ListBucketVersions/],
    ['BadDigest', 400, 'storage', /other bytes/],
    ['SlowDown', 503, 'service', /503/],
    ['TypeError', 200, 'service', /with something that cannot be read/],
    ['NotImplemented', 501, 'rejected', /501/],
    ['TimeoutError', undefined, 'unreachable', /does not answer/],
  ])('%s (%s) is one sentence with its fix, without what the store said', (name, status, code, words) => {
    const error = explained(name, status);
    expect(error).toMatchObject({ code, message: expect.stringMatching(words) as string });
    expect(error.hint).toMatch(/\w/);
    expect(JSON.stringify([error.message, error.hint, error.cause, error.stack])).not.toMatch(/AKID|Signature/);
  });

  it('is tried again where that may help, and only there', () => {
    expect([explained('SlowDown', 503), explained('', 409), explained('')].map(({ retryable }) => retryable)).toEqual([
      true,
      true,
      true,
    ]);
    expect([explained('AccessDenied', 403), explained('NotImplemented', 501)].some(({ retryable }) => retryable)).toBe(
      false,
    );
  });

  it('is healed by a second attempt, also where the first one was done and its answer was lost', async () => {
    const { model, dataDir } = await freshScene(['a']);
    const bucket = await modelBucket(model, 3);
    const cut = new Set<string>();
    model.fault = (_index, asked) => {
      if (cut.has(asked)) return undefined;
      cut.add(asked);
      return 'cut after';
    };
    await expect(follow(dataDir, bucket)).resolves.toMatchObject({ locked: [] });
    expect(model.asked.length).toBeGreaterThan(cut.size);
  });
});

it('a prefix without credentials says so, and asks nothing', async () => {
  const model = await freshModel();
  const bucket = await modelBucket(model);
  // They end with those of the bucket.
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('AWS_PROFILE', 'no-such-profile');
  await expect(bucket.listVersions()).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('no credentials') as string,
  });
  expect(model.asked).toEqual([]);
});
