import { createHash, timingSafeEqual } from 'node:crypto';
import { isLoopback } from '../config/addresses.ts';
import { usageError } from '../core/errors.ts';

/** The rules of access: the names the server answers to, and the token it asks for. The token is null on loopback only. */
export type AccessRules = { host: string; allowedHosts: readonly string[]; token: string | null };

const tokenLengthMin = 16;

/** Throws `usage` when the page would be open to the network without a token, or when the token is easy to guess. */
export function refuseOpenAccess({ host, token }: AccessRules): void {
  if (token !== null && token.length < tokenLengthMin)
    throw usageError(
      `the status page's token is shorter than ${tokenLengthMin} characters`,
      'make one, for example with `openssl rand -hex 32`',
    );
  if (token === null && !isLoopback(bracketed(host)))
    throw usageError(
      `the status page would be open to everyone who can reach ${host}`,
      'set MIRROR_STATUS_TOKEN or MIRROR_STATUS_TOKEN_FILE, or status.host to 127.0.0.1',
    );
}

/** Whether the server answers to this `Host` header. Refuses DNS rebinding: a foreign page with our address. */
export function isHostAllowed(header: string | undefined, { host, allowedHosts }: AccessRules): boolean {
  const url = `http://${header ?? ''}`;
  if (header === undefined || !/^[\w.:[\]-]+$/.test(header) || !URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return isLoopback(hostname) || [host, ...allowedHosts].some((name) => bracketed(name).toLowerCase() === hostname);
}

/** Whether an `Authorization` header has the token as its password (RFC 7617, any user name). In constant time. */
export function isAuthorized(header: string | undefined, token: string | null): boolean {
  if (token === null) return true;
  const [, encoded = ''] = /^basic ([\w+/]+=*)$/i.exec(header ?? '') ?? [];
  const given = Buffer.from(encoded, 'base64')
    .toString('utf8')
    .replace(/^[^:]*:/, '');
  return timingSafeEqual(digestOf(given), digestOf(token));
}

/** A digest: its length is the same for texts of any length. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** An address or name as a URL writes it. */
function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
