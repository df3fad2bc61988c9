import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** An answer of a hostile service to `GET /persons`, and how the command that asked is to end. */
export type HostileAnswer = {
  code: number;
  says: RegExp;
  send: (response: ServerResponse, request: IncomingMessage) => void;
};

const bytesMax = 8_388_608;
const created = '2026-01-01T00:00:00Z';
const uuidOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
const page = (rows: string): string => `{"results":[${rows}],"next":null,"has_next":false}`;

/** A page with one person, in whom the given fields stand. */
const person = (fields: string): string =>
  page(`{"uuid":"${uuidOf(1)}","id":1,"name":"Ann","created_at":"${created}","distinct_ids":["a"]${fields}}`);

/** As many values of about so many bytes as an answer of the largest size has room for. */
const filled = (bytesEach: number, valueOf: (index: number) => string): string =>
  Array.from({ length: Math.floor((bytesMax - 1000) / bytesEach) }, (_value, index) => valueOf(index)).join(',');

const digits = (index: number, length: number): string => String(index).padStart(length, '0');

const json = { 'content-type': 'application/json' };
const gzipped =
  (text: string, status = 200): HostileAnswer['send'] =>
  (response) =>
    void response.writeHead(status, { ...json, 'content-encoding': 'gzip' }).end(gzipSync(text, { level: 1 }));

const complete = { code: 0, says: /"verdict":"complete"/ };
const tooLarge = { code: 1, says: /persons 1 to 20 of the list: the service's answer is larger than 8388608 bytes/ };
const tooManyValues = {
  code: 1,
  says: /persons 1 to 20 of the list: the service's answer has more than 524,288 values/,
};

/** Each answer at its worst: as large as is read, and built of whatever takes the most memory once it is read. */
export const hostileAnswers: Readonly<Record<string, HostileAnswer>> = {
  '4,000,000 zeros for rows': { ...tooManyValues, send: gzipped(page(filled(2, () => '0'))) },
  '1,000,000 numbers for rows': { ...tooManyValues, send: gzipped(page(filled(8, (index) => digits(index, 7)))) },
  '500,000 rows': {
    code: 1,
    says: /answered with 493,\d+ rows, though at most 1,000 were asked for/,
    send: gzipped(page(filled(17, (index) => `"${digits(index, 14)}"`))),
  },
  'a number of 8,000,000 digits': {
    ...complete,
    send: gzipped(person(`,"properties":{"a":${'9'.repeat(bytesMax - 1000)}}`)),
  },
  'a text of 8,000,000 digits': { ...complete, send: gzipped(person(`,"a":"x:${'9'.repeat(bytesMax - 1000)}"`)) },
  '4,000,000 brackets, closed': {
    ...complete,
    send: gzipped(person(`,"properties":{"a":${'['.repeat(4e6)}${']'.repeat(4e6)}}`)),
  },
  '8,000,000 brackets, open': {
    code: 1,
    says: /text that is cut off, malformed or not UTF-8/,
    send: gzipped('['.repeat(8e6)),
  },
  '480,000 properties': {
    ...complete,
    send: gzipped(person(`,"properties":{${filled(17, (index) => `"${digits(index, 12)}":1`)}}`)),
  },
  '480,000 unknown fields': {
    ...complete,
    send: gzipped(person(`,${filled(17, (index) => `"${digits(index, 12)}":1`)}`)),
  },
  '480,000 distinct ids': {
    ...complete,
    send: gzipped(person('').replace('["a"]', `[${filled(17, (index) => `"${digits(index, 14)}"`)}]`)),
  },
  '480,000 numbers beyond a double': {
    ...complete,
    send: gzipped(person(`,"properties":[${filled(18, (index) => `1${digits(index, 15)}1`)}]`)),
  },
  '480,000 numbers that grow when they are written': {
    ...complete,
    send: gzipped(person(`,"properties":[${filled(17, () => '10000000000000e7')}]`)),
  },
  '480,000 nested lists': {
    ...complete,
    send: gzipped(
      person(`,"properties":[${filled(17 * 150, () => `${'['.repeat(150)}${'1'.repeat(2100)}${']'.repeat(150)}`)}]`),
    ),
  },
  'unreadable rows of 8,000,000 bytes': {
    ...complete,
    send: (response, request) => {
      const offset = Number(new URL(request.url ?? '/', 'http://service.invalid').searchParams.get('offset'));
      const rows = Array.from(
        { length: 998 },
        (_row, index) => `{"uuid":"${uuidOf(index)}","distinct_ids":5,"a":"${'x'.repeat(8300)}"}`,
      );
      gzipped(page(rows.slice(offset).join(',')))(response, request);
    },
  },
  'pages of 480,000 numbers beyond a double, as many as may be under way': {
    ...complete,
    send: (response, request) => {
      const asked = new URL(request.url ?? '/', 'http://service.invalid').searchParams;
      const [offset, limit] = [Number(asked.get('offset')), Number(asked.get('limit'))];
      const list = Array.from({ length: 440 }, (_value, index) => `1${digits(index, 15)}1`).join(',');
      const rows = Array.from({ length: Math.max(0, Math.min(limit, 6000 - offset)) }, (_row, index) => {
        const time = new Date(Date.UTC(2026, 0, 1) - (offset + index) * 1000).toISOString();
        return `{"uuid":"${uuidOf(offset + index)}","created_at":"${time}","distinct_ids":[],"properties":[${list}]}`;
      });
      const next = offset + limit < 6000 ? `"/?offset=${offset + limit}"` : 'null';
      response.writeHead(200, json).end(`{"results":[${rows.join(',')}],"next":${next}}`);
    },
  },
  'unreadable rows on every page': {
    code: 4,
    says: /"reason":"too_many_unreadable"/,
    send: (response, request) => {
      const asked = new URL(request.url ?? '/', 'http://service.invalid').searchParams;
      const [offset, limit] = [Number(asked.get('offset')), Number(asked.get('limit'))];
      const rows = Array.from(
        { length: limit },
        (_row, index) =>
          `{"uuid":"${uuidOf(offset + index)}","distinct_ids":5,"created_at":"${created}","a":"${'x'.repeat(7000)}"}`,
      );
      const text = `{"results":[${rows.join(',')}],"next":"/?offset=${offset + limit}"}`;
      response.writeHead(200, json).end(text);
    },
  },
  'a bomb of gzip': {
    ...tooLarge,
    send: (response) => void response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bombs().gzip),
  },
  'a bomb of brotli': {
    ...tooLarge,
    send: (response) => void response.writeHead(200, { ...json, 'content-encoding': 'br' }).end(bombs().br),
  },
  'an answer without an end': {
    ...tooLarge,
    send: (response) => {
      response.writeHead(200, json);
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    },
  },
  'headers without an end': {
    code: 1,
    says: /no answer from/,
    send: (response) => {
      const { socket } = response;
      socket?.write('HTTP/1.1 200 OK\r\n');
      const more = (): void => {
        for (let room = true; room;) room = socket?.write(`x-${Math.random()}: ${'y'.repeat(1000)}\r\n`) ?? false;
      };
      socket?.on('drain', more).on('error', () => undefined);
      more();
    },
  },
  'a refusal of 8,000,000 bytes': {
    code: 3,
    says: /may not do this/,
    send: gzipped(`{"detail":"${'ab '.repeat(2.7e6)}","error":"${'c'.repeat(100)}"}`, 403),
  },
  'a refusal of 500,000 fields': {
    code: 3,
    says: /may not do this/,
    send: gzipped(`{${filled(17, (index) => `"${digits(index, 12)}":1`)}}`, 403),
  },
};

let made: { gzip: Buffer; br: Buffer } | undefined;

/** A gigabyte of blanks, packed. */
function bombs(): { gzip: Buffer; br: Buffer } {
  const blanks = Buffer.alloc(2 ** 30, ' ');
  return (made ??= {
    gzip: gzipSync(blanks, { level: 1 }),
    br: brotliCompressSync(blanks, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  });
}
