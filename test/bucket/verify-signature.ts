import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A key pair, and for what its requests are signed. */
export type SignedFor = { id: string; secret: string; region: string; service: string };

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * The signature that a request has to have (AWS Signature Version 4), as Amazon's page on creating signed requests says: it shares
 * nothing with the SDK.
 */
export function signatureOf(
  { method, url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: string,
  signedHeaders: readonly string[],
  { secret, region, service }: SignedFor,
): string {
  const [path = '', query = ''] = url.split('?');
  const pairs = query === '' ? [] : query.split('&').map((pair) => pair.split('=').map(decodeURIComponent));
  const canonical = [
    method,
    path.split('/').map(escaped).join('/'),
    pairs
      .map(([name = '', value = '']) => `${escaped(name)}=${escaped(value)}`)
      .toSorted()
      .join('&'),
    ...signedHeaders.map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    signedHeaders.join(';'),
    digest(body),
  ].join('\n');
  const at = String(headers['x-amz-date']);
  const scope = `${at.slice(0, 8)}/${region}/${service}/aws4_request`;
  const key = scope.split('/').reduce<string | Buffer>((made, part) => hmac(made, part), `AWS4${secret}`);
  return hmac(key, `AWS4-HMAC-SHA256\n${at}\n${scope}\n${digest(canonical)}`).toString('hex');
}

/** Why a request is not signed as it has to be, by who may sign; undefined where it is. */
export function problemOfSignature(request: IncomingMessage, body: string, by: SignedFor): string | undefined {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=(.+)$/.exec(
      request.headers.authorization ?? '',
    );
  const [, id, , region, service, names = '', signature] = found ?? [];
  if (id !== by.id || region !== by.region || service !== by.service) return 'signed by or for another';
  const signedHeaders = names.split(';');
  const needed = ['host', ...Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'))];
  if (!needed.every((name) => signedHeaders.includes(name))) return 'a header is not signed';
  if (request.headers['x-amz-content-sha256'] !== digest(body)) return 'another body';
  return signature === signatureOf(request, body, signedHeaders, by) ? undefined : 'another signature';
}
