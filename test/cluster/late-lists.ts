import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';

// In a thread: who appends to a ledger in a bucket waits with all of its own.
const proxy = /*js*/ `
  const { createServer, request } = require('node:http');
  const { workerData: { store, isLate }, parentPort } = require('node:worker_threads');
  const lists = new Map();
  createServer((asked, answer) => {
    const isList = /[?&]versions/.test(asked.url);
    const known = lists.get(asked.url);
    if (isList && known && Atomics.load(isLate, 0) === 1) return answer.writeHead(200, { 'content-type': 'application/xml' }).end(known);
    const { method, url: path, headers } = asked;
    asked.pipe(request(store, { method, path, headers, setHost: false }, (told) => {
      const chunks = [];
      answer.writeHead(told.statusCode, told.headers);
      told.on('data', (chunk) => chunks.push(chunk)).on('end', () => isList && lists.set(asked.url, Buffer.concat(chunks)));
      told.pipe(answer);
    }));
  }).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port); });
`;

/** A way to a store whose lists of versions are, where the test says so, those of an earlier moment. It ends with the test. */
export async function openLateLists(store: string): Promise<{ endpoint: string; setLate: (isLate: boolean) => void }> {
  const isLate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(proxy, { eval: true, workerData: { store, isLate } });
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = (await once(worker, 'message')) as [number];
  return { endpoint: `http://127.0.0.1:${port}`, setLate: (late) => void Atomics.store(isLate, 0, late ? 1 : 0) };
}
