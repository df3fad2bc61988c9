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

/** An Avro file of one block, not compressed, as its first header tells. The same content makes the same bytes. */
export function encodeAvro({ schema, headers, records }: AvroFile): Buffer {
  const { Type } = avsc();
  const type = Type.forSchema(JSON.parse(schema) as Avsc.Schema, { wrapUnions: false });
  const data = Buffer.concat(records.map((record) => type.toBuffer(record)));
  const texts = Object.entries({ 'avro.codec': 'null', 'avro.schema': schema, ...headers });
  const meta = Object.fromEntries(texts.map(([name, text]) => [name, Buffer.from(text)]));
  const sync = createHash('sha256').update(schema).update(data).digest().subarray(0, 16);
  return Buffer.concat([
    Type.forSchema(headerSchema).toBuffer({ magic, meta, sync }),
    Type.forSchema(blockSchema).toBuffer({ count: records.length, data, sync }),
  ]);
}
