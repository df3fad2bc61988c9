import type { Ways } from './cluster-workers.ts';
import { openProxy, type TcpProxy } from './tcp-proxy.ts';
import type { FaultWorld } from './fault-world.ts';

/** The ways of one machine to Postgres and to the store, which can be cut, delayed and stalled. */
export async function faultyWays({
  address,
  store,
}: FaultWorld): Promise<{ postgres: TcpProxy; bucket: TcpProxy; ways: Ways }> {
  const postgres = await openProxy(address);
  const bucket = await openProxy(store.place.endpoint ?? '');
  return { postgres, bucket, ways: { database: postgres.through, endpoint: bucket.through } };
}
