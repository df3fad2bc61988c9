import { createHash, timingSafeEqual } from 'node:crypto';
import { isLoopback } from '../config/settings.ts';
import { AppError } from '../core/errors.ts';

/** Who may look: under which names the server is asked for, and with which token; null on loopback only. */
export type AccessRules = { host: string; allowedHosts: readonly string[]; token: string | null };

const tokenLengthMin = 16;

/** Throws `usage` when anybody on the network could look, or a token could be guessed. */
export function refuseOpenAccess({ host, token }: AccessRules): void {
  if (token !== null && token.length < tokenLengthMin)
    throw new AppError(`the status page's token is shorter than ${tokenLengthMin} characters`, {
      code: 'usage',
      hint: 'make one, for example with `openssl rand -hex 32`',
    });
  if (token === null && !isLoopback(bracketed(host)))
    throw new AppError(`the status page would be open to everybody who can reach ${host}`, {
      code: 'usage',
      hint: 'set MIRROR_STATUS_TOKEN or MIRROR_STATUS_TOKEN_FILE, or status.host to 127.0.0.1',
    });
}

/**
 * Whether the server may be asked for by this `Host` header. A page elsewhere that has its own name resolve to this
 * machine (DNS rebinding) is refused by it, though the browser takes it for the same origin.
 */
export function isHostAllowed(header: string | undefined, { host, allowedHosts }: AccessRules): boolean {
  const url = `http://${header ?? ''}`;
  if (header === undefined || !/^[\w.:[\]-]+$/.test(header) || !URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return (
    isLoopback(hostname) || [host, ...allowedHosts].some((name) => bracketed(name).toLowerCase() === hostname)
  );
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

/** Of one length, whatever the text's. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** An address or name as a URL writes it. */
function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
