import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError, systemCode } from './errors.ts';

/** A server that listens. */
export type Listening = {
  /** Without a trailing slash. */
  url: string;
  /** Takes no new request and resolves when every connection is closed. */
  close(): Promise<void>;
};

const drainMs = 1_000;

/**
 * Has a server listen; port 0 takes any free one. Throws `usage` for a taken port. `setting`: the group of settings that names both;
 * null where the command line names the port.
 */
export async function listen(
  server: Server,
  { host, port, what, setting }: { host: string; port: number; what: string; setting: string | null },
): Promise<Listening> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new AppError(`${what} cannot listen on ${host}:${port} (${systemCode(cause) ?? 'error'})`, {
      code: 'usage',
      hint:
        setting === null
          ? 'choose another port, or 0 for any that is free'
          : `set ${setting}.port to a free port, or to 0 for any, and ${setting}.host to an address of this machine`,
      cause,
    });
  }
  const { address, family, port: taken } = server.address() as AddressInfo;
  return { url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`, close: () => closeServer(server) };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const deadline = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(deadline);
}
