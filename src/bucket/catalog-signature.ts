import { createRequire } from 'node:module';
import type * as Signature from '@smithy/signature-v4';
import type { Settings } from '../config/settings.ts';
import type { TransportRequest } from '../client/transport.ts';
import { usageError } from '../core/errors.ts';
import { explainBucketError } from './bucket-error.ts';
import { type BucketTools, openStore } from './store.ts';

/** The headers that sign a request (AWS Signature Version 4); none where requests are not signed. */
export type SignRequest = (
  request: Pick<TransportRequest, 'method' | 'path' | 'body'>,
) => Promise<Record<string, string>>;

/**
 * Signs requests to the catalog, if the settings name the service that they are signed for: with the credentials and the region that
 * the bucket is reached with. The SDK is loaded only then. A signature holds for some minutes: each request, and each repetition, is
 * signed by itself. Throws `usage` where there are no credentials or no region.
 */
export async function openSigner(
  { s3, catalog: { sigv4 } }: Pick<Settings['export'], 's3' | 'catalog'>,
  uri: string,
  tools: BucketTools,
): Promise<SignRequest> {
  if (sigv4 === null) return () => Promise.resolve({});
  const { client } = await openStore({ location: uri, ...s3 }, tools);
  const { SignatureV4 } = createRequire(import.meta.url)('@smithy/signature-v4') as typeof Signature;
  const { credentials, region, sha256 } = client.config;
  const signer = new SignatureV4({ service: sigv4, credentials, region, sha256 });
  const { protocol, host, hostname } = new URL(uri);
  await Promise.resolve(region()).catch((): never => {
    throw usageError(
      `the region for which requests to ${uri} are signed is not known`,
      'set export.s3.region, or AWS_REGION',
    );
  });
  return async ({ method, path, body }) => {
    const { pathname, searchParams } = new URL(path, uri);
    const headers = { host, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const query = Object.fromEntries(searchParams);
    const asked = { method, protocol, hostname, path: pathname, query, headers, body };
    const signed = await signer.sign(asked).catch((error: unknown): never => {
      throw explainBucketError(error, { operation: 'sign', location: uri });
    });
    return signed.headers;
  };
}
