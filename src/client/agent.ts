import { createRequire } from 'node:module';
import type * as Undici from 'undici';
import { usageError } from '../core/errors.ts';

/** The longest wait for a connection, for the first byte of an answer, and between two bytes. */
export const answerTimeouts = { connect: { timeout: 10_000 }, headersTimeout: 60_000, bodyTimeout: 60_000 };

/**
 * What connects to addresses outside. An `https` address is reached through the proxy that HTTPS_PROXY names, but for the hosts of
 * NO_PROXY, by a tunnel: the proxy sees the host's name, and neither key nor answer. An `http` address, which is on this machine, is
 * never reached through one. The first call loads undici, so that a command that asks nobody does not wait for it. Throws `usage` for a
 * proxy that is no address.
 */
export function openAgent(options: Undici.Agent.Options = {}): Undici.Dispatcher {
  const { EnvHttpProxyAgent } = createRequire(import.meta.url)('undici') as typeof Undici;
  try {
    return new EnvHttpProxyAgent({ ...options, httpProxy: '' });
  } catch {
    // The address is not repeated: it may hold a password.
    throw usageError('HTTPS_PROXY is no address of a proxy', 'give it as http://host:port, or unset it');
  }
}

/** What a proxy has answered instead of opening a tunnel, in words; undefined where the error is no such answer. */
export function proxyRefusal(error: unknown): string | undefined {
  const [, status] = /Proxy response \((\d+)\)/.exec(error instanceof Error ? error.message : '') ?? [];
  return status === undefined ? undefined : `the proxy of HTTPS_PROXY answers with ${status}`;
}
