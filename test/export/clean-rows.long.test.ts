import { globSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanJson } from '../../src/core/clean-json.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { parquetRows } from '../../src/snapshot/duckdb.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { queryParquet } from '../../src/snapshot/read-parquet.ts';
import { snapshotFolder } from '../snapshot/paths.ts';
import { exportAll, openWorld } from './exported-world.ts';

const text = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xff_ff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('\ud800', '\udc00', '\0', '\\', '\u001E', '\u001F', 'u0000'),
  ),
});
const json = fc.dictionary(text, fc.oneof(text, fc.array(text, { maxLength: 2 })), { maxKeys: 3 });

/** Each way in which rows are read and published: as texts, and one by one. */
const ways = [{}, { 'export.mask': ['plan'] }];

test.for(ways)('whatever the service sends, DuckDB reads every JSON column (%j)', async (set) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(json, json), { minLength: 1, maxLength: 60 }), async (rows) => {
      const world = openWorld({ 'export.partRows': 50, ...set });
      const insert = world.db.prepare(`INSERT INTO persons (uuid, name, properties, extra, first_seen_pass, changed_at)
        VALUES (?, ?, ?, ?, 1, '2026-11-01T00:00:00Z')`);
      for (const [at, [properties, extra]] of rows.entries())
        insert.run(
          `p${at}`.padStart(4),
          String.raw`\u0000 \ud800 is no JSON`,
          JSON.stringify(properties),
          JSON.stringify(extra),
        );
      const [published] = await exportAll(world, 'full', undefined, ['persons']);
      const snapshotId = published?.snapshotId ?? '';
      const { replaced } = publishedFilesIn(world.dataDir).readManifest({ dataset: 'persons', snapshotId });
      const folder = snapshotFolder(world.dataDir, 'persons', snapshotId);
      const parts = globSync('*.parquet', { cwd: folder }).map((name) => join(folder, name));
      const found = await queryParquet(
        world.dataDir,
        `SELECT name, properties, extra, json_type(properties) AS type,
        json_extract(properties, '$') AS read, json_extract(extra, '$') AS also FROM ${parquetRows(parts)} ORDER BY person_uuid`,
      );
      const counts: Record<string, number> = {};
      const clean = (column: string, value: unknown): string =>
        cleanJson(JSON.stringify(value), (count) => (counts[column] = (counts[column] ?? 0) + count));
      expect(found.map(({ name, properties, extra, type }) => ({ name, properties, extra, type }))).toEqual(
        rows.map(([properties, extra]) => ({
          name: String.raw`\u0000 \ud800 is no JSON`,
          properties: clean('properties', properties),
          extra: clean('extra', extra),
          type: 'OBJECT',
        })),
      );
      expect(replaced ?? {}).toEqual(counts);
      const kept = openDatabaseReadOnly(world.dataDir)
        .prepare(`SELECT properties FROM persons ORDER BY uuid`)
        .pluck()
        .all();
      expect(kept).toEqual(rows.map(([properties]) => JSON.stringify(properties)));
    }),
    { numRuns: 6 },
  );
});
