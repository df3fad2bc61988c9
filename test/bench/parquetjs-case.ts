import { statSync } from 'node:fs';
import { join } from 'node:path';
import parquetjs from 'parquetjs-lite';
import type { ColumnValue } from '../../src/contract/tolerant-reader.ts';
import { isoToMicros } from '../../src/core/time.ts';
import { RowText } from '../../src/contract/row-text.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { withSnapshotSource } from '../../src/mirror/snapshot-source.ts';
import type { CaseParameters, CaseResult } from './case.ts';

const text = { type: 'UTF8', compression: 'SNAPPY', optional: true };
const time = { type: 'TIMESTAMP_MICROS', compression: 'SNAPPY', optional: true };

/** parquetjs-lite, fed with the same rows of the same mirror. It has no zstd. */
export async function parquetjsAlone({ dataDir }: CaseParameters): Promise<CaseResult> {
  const path = join(dataDir, 'parquetjs.parquet');
  const schema = new parquetjs.ParquetSchema({
    person_uuid: text,
    person_id: { type: 'INT64', compression: 'SNAPPY', optional: true },
    name: text,
    distinct_ids: { ...text, repeated: true },
    properties: text,
    created_at: time,
    extra: text,
    changed_at: time,
  });
  const db = openDatabaseReadOnly(dataDir);
  const startedAt = performance.now();
  const writer = await parquetjs.ParquetWriter.openFile(schema, path, { rowGroupSize: 20_480 });
  await withSnapshotSource(db, 'persons', { since: null, textsOfPart: null }, async ({ rows }) => {
    for (const row of rows) if (!(row instanceof RowText)) await writer.appendRow(published(row));
  });
  await writer.close();
  const ms = performance.now() - startedAt;
  db.close();
  return { ms, bytes: statSync(path).size };
}

function published(row: Readonly<Record<string, ColumnValue>>): Record<string, unknown> {
  const { uuid, id, name, distinct_ids: distinctIds, properties, created_at: createdAt, extra } = row;
  return {
    person_uuid: uuid,
    person_id: id,
    name,
    distinct_ids: JSON.parse(String(distinctIds)),
    properties,
    created_at: isoToMicros(String(createdAt)),
    extra,
    changed_at: isoToMicros(String(row['changed_at'])),
  };
}
