import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type * as Avsc from 'avsc';

/** The content of an Avro file: its schema as text, its other headers, and its records. */
export type AvroFile = { schema: string; headers: Readonly<Record<string, string>>; records: readonly unknown[] };

let api: typeof Avsc | undefined;

/** The package, which is loaded by the first call: most commands read and write no Avro. */
function avsc(): typeof Avsc {
  return (api ??= createRequire(import.meta.url)('avsc') as typeof Avsc);
}

const headerSchema: Avsc.Schema = {
  type: 'record',
  name: 'header',
  fields: [
    { name: 'magic', type: { type: 'fixed', name: 'magic', size: 4 } },
    { name: 'meta', type: { type: 'map', values: 'bytes' } },
    { name: 'sync', type: { type: 'fixed', name: 'sync', size: 16 } },
  ],
};
const blockSchema: Avsc.Schema = {
  type: 'record',
  name: 'block',
  fields: [
    { name: 'count', type: 'long' },
    { name: 'data', type: 'bytes' },
    { name: 'sync', type: { type: 'fixed', name: 'blockSync', size: 16 } },
  ],
};
const magic = Buffer.from('Obj\u0001');

type Header = { magic: Buffer; meta: Record<string, Buffer>; sync: Buffer };
type Decoded<Value> = { value: Value; offset: number };
type Block = { count: number; data: Buffer; sync: Buffer };

/** An Avro file of one block, not compressed. The same content makes the same bytes. */
export function encodeAvro({ schema, headers, records }: AvroFile): Buffer {
  const { Type } = avsc();
  const type = Type.forSchema(JSON.parse(schema) as Avsc.Schema, { wrapUnions: false });
  const data = Buffer.concat(records.map((record) => type.toBuffer(record)));
  const texts = Object.entries({ 'avro.schema': schema, 'avro.codec': 'null', ...headers });
  const meta = Object.fromEntries(texts.map(([name, text]) => [name, Buffer.from(text)]));
  const sync = createHash('sha256').update(schema).update(data).digest().subarray(0, 16);
  return Buffer.concat([
    Type.forSchema(headerSchema).toBuffer({ magic, meta, sync }),
    Type.forSchema(blockSchema).toBuffer({ count: records.length, data, sync }),
  ]);
}

/** The content of a file that `encodeAvro` has made; undefined for any other bytes. */
export function decodeAvro(bytes: Buffer): AvroFile | undefined {
  const { Type } = avsc();
  try {
    const { value: header, offset }: Decoded<Header> = Type.forSchema(headerSchema).decode(bytes, 0);
    const block = Type.forSchema(blockSchema).fromBuffer(bytes.subarray(offset)) as Block;
    const { 'avro.schema': schema, 'avro.codec': _codec, ...rest } = header.meta;
    const text = String(schema);
    const type = Type.forSchema(JSON.parse(text) as Avsc.Schema, { wrapUnions: false });
    const records: unknown[] = [];
    for (let at = 0; at < block.data.length && records.length < block.count;) {
      const { value, offset: next }: Decoded<unknown> = type.decode(block.data, at);
      records.push(value);
      at = next;
    }
    const headers = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, value.toString()]));
    const file = { schema: text, headers, records };
    return encodeAvro(file).equals(bytes) ? file : undefined;
  } catch {
    return undefined;
  }
}
