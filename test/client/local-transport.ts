import type { Dispatcher } from 'undici';
import { onTestFinished } from 'vitest';
import { openTransport, type Transport, type TransportLimits } from '../../src/client/transport.ts';
import { localServer, type Answerer } from './local-server.ts';

/** The key that `transportTo` sends. */
export const apiKey = 'phx_secret_key';
const limits: TransportLimits = { totalTimeoutMs: 20_000, bodyBytesMax: 1_000_000 };

/** A transport to a local server that answers as told, closed when the test has ended. */
export async function transportTo(
  answer: Answerer,
  changed: Partial<TransportLimits> = {},
  connections = 1,
): Promise<Transport> {
  const { origin } = await localServer(answer);
  return transportAt(origin, changed, connections);
}

/** A transport to an address, through connections of its own or the given ones, closed when the test has ended. */
export function transportAt(
  origin: string,
  changed: Partial<TransportLimits> = {},
  connections = 1,
  pool?: Dispatcher,
): Transport {
  const transport = openTransport(origin, apiKey, connections, { ...limits, ...changed }, pool);
  onTestFinished(() => transport.close());
  return transport;
}

/** The simplest request. */
export const get = { method: 'GET', path: '/' } as const;

/** What every error is like that means: there was no whole answer, ask again. */
export const unreachable = { name: 'AppError', code: 'unreachable', retryable: true };
