import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** What a proxy does to bytes: passes them on after so many milliseconds, or keeps them until the weather changes. */
type Weather = number | 'stalled';

/** A way to a server over loopback that can be cut, delayed and stalled. */
export type TcpProxy = {
  /** The address of the server, by this way. */
  through: string;
  set: (weather: Weather) => void;
  /** Breaks all connections, now or after so many more bytes. */
  cut: (afterBytes?: number) => void;
};

/** More connections than this are no machine's. */
const connectionsMax = 200;

/** Opens a way to the server of an address. It is gone when the test has ended. */
export async function openProxy(address: string): Promise<TcpProxy> {
  const to = new URL(address);
  const pairs = new Set<[Socket, Socket]>();
  let weather: Weather = 0;
  let bytesLeft = Infinity;
  let clear = Promise.withResolvers<void>();
  clear.resolve();
  const cutAll = (): void => {
    bytesLeft = Infinity;
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  const carry = (from: Socket, into: Socket): void => {
    // What comes later goes on later, the end too.
    let last = Promise.resolve();
    const pass = async (bytes: Buffer): Promise<void> => {
      if (typeof weather === 'number' && weather > 0) await delay(weather);
      await clear.promise;
      bytesLeft -= bytes.length;
      if (bytesLeft < 0) return cutAll();
      if (into.writable && !into.write(bytes)) await Promise.race([once(into, 'drain'), once(into, 'close')]);
      from.resume();
    };
    from.on('data', (bytes: Buffer) => {
      from.pause();
      last = last.then(() => pass(bytes));
    });
    const then = (act: () => void): void => {
      last = last.then(act);
    };
    from.on('end', () => then(() => into.end()));
    from.on('error', () => undefined);
    from.on('close', () => then(() => into.destroySoon()));
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (pairs.size >= connectionsMax) return void client.destroy();
    const upstream = connect({ host: to.hostname, port: Number(to.port), allowHalfOpen: true });
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    client.once('close', () => pairs.delete(pair));
    carry(client, upstream);
    carry(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    clear.resolve();
    cutAll();
    server.close();
  });
  const through = new URL(address);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    through: through.href.replace(/\/$/, ''),
    set: (next) => {
      if (next === 'stalled' && weather !== 'stalled') clear = Promise.withResolvers();
      weather = next;
      if (next !== 'stalled') clear.resolve();
    },
    cut: (afterBytes = 0) => {
      if (afterBytes === 0) cutAll();
      else bytesLeft = afterBytes;
    },
  };
}
