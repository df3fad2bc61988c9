import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { personJson, type Shape } from './persons.ts';

// A process of its own that does as little as a server can: any window of the list is one slice of bytes made before. A list
// may drift: after each page, its first persons are deleted. `/gone` tells how many. Arguments: how many persons, and their shape. Sends its address to its parent, and ends with it.

type List = { bytes: Buffer; ends: number[] };

const rows = Number(process.argv[2]);
const shape = process.argv[3] as Shape;
const lists = [0, 1].map(makeList);

let shown = 0;
let drift = 0;
let gone = 0;

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service.invalid');
  if (pathname === '/gone') return void response.end(String(gone));
  const list = lists[shown];
  if (!list) return void response.writeHead(404).end();
  const offset = Number(searchParams.get('offset'));
  const first = Math.min(rows, offset + gone);
  const end = Math.min(rows, first + Number(searchParams.get('limit')));
  const next = end < rows ? `"http://service.invalid/?offset=${end - gone}&limit=${end - first}"` : 'null';
  const head = `{"count":${rows - gone},"next":${next},"previous":null,"results":[`;
  // Rows are stored with a comma before each.
  const body = list.bytes.subarray((list.ends[first - 1] ?? 0) + 1, list.ends[end - 1]);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': head.length + body.length + 2 });
  response.write(head);
  response.write(body);
  response.end(']}');
  if (end < rows) gone += drift;
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on('message', (list: { generation: number; drift: number }) => {
  shown = list.generation;
  drift = list.drift;
  gone = 0;
  process.send?.('shown');
});
process.once('disconnect', () => process.exit());

function makeList(generation: number): List {
  const parts = Array.from({ length: rows }, (_row, place) => Buffer.from(`,${personJson(place, generation, shape)}`));
  let end = 0;
  return { bytes: Buffer.concat(parts), ends: parts.map((part) => (end += part.length)) };
}
