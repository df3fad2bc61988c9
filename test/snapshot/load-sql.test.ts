import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { CurrentSnapshot } from '../../src/snapshot/current-snapshots.ts';
import type { Row } from '../../src/snapshot/columns.ts';
import { dbtModel, dbtSources, duckDbScript, presentRows } from '../../src/snapshot/load-sql.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { queryParquet } from '../../src/snapshot/read-parquet.ts';
import { publishRows } from './publish-rows.ts';
import { personRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const snapshot = (
  dataset: CurrentSnapshot['dataset'],
  kind: CurrentSnapshot['kind'],
  path: string,
): CurrentSnapshot => ({
  dataset,
  snapshotId: '20261120T040000.000Z',
  kind,
  createdAt: '2026-11-20T04:00:00.000Z',
  deletions: kind === 'delta' ? '20261120T040000.000Z' : null,
  rows: 1,
  files: [{ path, rows: 1, bytes: 1, sha256: '' }],
});

it('a full snapshot is read as it is; nothing is said of a dataset that is not published', () => {
  expect(duckDbScript([snapshot('persons', 'full', "/o'hara/[1]")], ['persons', 'recordings'])).toBe(
    `CREATE OR REPLACE TABLE "persons" AS\nFROM read_parquet(['/o''hara/[[]1]'], hive_partitioning = false);\n`,
  );
});

it('with a delta, the newest version of each row counts, by the key as the files name it, and rows that have left go', () => {
  const all = [snapshot('persons', 'full', '1'), snapshot('persons', 'delta', '2'), snapshot('deletions', 'full', '3')];
  const script = duckDbScript(all, ['persons']);
  expect(script).toContain('newest."person_uuid" = version."person_uuid" AND newest._seq = version._seq');
  expect(script).toContain(`WHERE dataset = 'persons' GROUP BY ALL) AS gone`);
  // Of two anti joins that compare numbers, DuckDB 1.1 to 1.4.3 lost rows by chance.
  for (const [condition] of script.matchAll(/ON [^\n]+/g)) expect(condition).not.toMatch(/[<>]/);
  expect(script).not.toContain('TABLE "deletions"');
});

// DuckDB held all rows of the full snapshot and of the deltas in memory: of a million persons, it was too little.
it('rows of a full snapshot and of deltas are streamed', async () => {
  const dataDir = temporaryFolder();
  const published = publishedFilesIn(dataDir);
  const pathsOf = async (dataset: 'persons' | 'deletions', rows: readonly Row[]): Promise<string[]> => {
    const snapshotId = await publishRows(dataDir, dataset, rows);
    return [published.localPath({ dataset, snapshotId }, 'part-00001.parquet')];
  };
  const full = await pathsOf('persons', [personRow('a'), personRow('b')]);
  const deltas = await pathsOf('persons', [personRow('b')]);
  const sql = presentRows('persons', { full, deltas, gone: await pathsOf('deletions', []) });
  const [plan] = await queryParquet(published.localFolder, `EXPLAIN ${sql}`);
  expect(plan?.['explain_value']).toContain('HASH_JOIN');
  expect(plan?.['explain_value']).not.toMatch(/DELIM|WINDOW|COLUMN_DATA/);
  expect(await queryParquet(published.localFolder, `SELECT person_uuid FROM (${sql}) ORDER BY 1`)).toEqual([
    { person_uuid: 'a' },
    { person_uuid: 'b' },
  ]);
});

// The statement had an empty list of files, at which DuckDB failed.
it.for([duckDbScript, dbtSources])(
  'deltas without the deletions of their moment are refused, with the way out',
  (print) => {
    const all = [snapshot('persons', 'full', '1'), snapshot('persons', 'delta', '2')];
    const older = { ...snapshot('deletions', 'full', '3'), snapshotId: '20261120T035959.999Z' };
    for (const shown of [all, [...all, older]])
      expect(() => print(shown, ['persons'])).toThrow(
        expect.objectContaining({ code: 'storage', hint: 'run `analytics-mirror export --kind delta` first' }) as Error,
      );
  },
);

// Doubled braces alone were an expression of Jinja: dbt then looked for a folder of another name.
it('a source of dbt survives the braces of a folder', () => {
  const [source] = (
    parse(dbtSources([snapshot('persons', 'full', '/{a}/1')], ['persons'])) as {
      sources: { tables: { name: string; config: { external_location: string } }[] }[];
    }
  ).sources;
  expect(source?.tables.map(({ name }) => name)).toEqual(['persons']);
  expect(source?.tables[0]?.config.external_location).toContain(String.raw`'/{{ '{{' }}a{{ '}}' }}/1'`);
});

it('sources of dbt are as fresh as the newest complete pass of their list, and test that it was the newest', () => {
  const all = [
    snapshot('persons', 'full', '/{a}/1'),
    snapshot('deletions', 'full', '2'),
    snapshot('passes', 'full', '/{a}/3'),
  ];
  const printed = parse(dbtSources(all, ['persons', 'deletions', 'passes'])) as {
    sources: { tables: { config: { loaded_at_query?: string }; columns: unknown[] }[] }[];
  };
  const [persons, deletions, passes] = printed.sources[0]?.tables ?? [];
  // Here, braces are rendered once.
  expect(persons?.config.loaded_at_query).toBe(
    `SELECT max(as_of) FROM (FROM read_parquet(['/{{ '{' }}a{{ '}' }}/3'], hive_partitioning = false)) WHERE dataset = 'persons' AND verdict = 'complete'`,
  );
  expect(persons?.columns).toEqual([{ name: 'person_uuid', data_tests: ['not_null', 'unique'] }]);
  expect(deletions?.config.loaded_at_query).toBeUndefined();
  expect(deletions?.columns).toEqual([{ name: 'key', data_tests: ['not_null'] }]);
  expect(JSON.stringify(passes?.columns)).toContain(`max(pass_id)`);
  expect(dbtSources(all.slice(0, 2), ['persons'])).not.toContain('freshness');
});

// Without the table's name, `person_uuid` is a column of `deletions` there, and the whole table goes.
it('a model of dbt names the table in each comparison with deletions, and compares numbers', () => {
  const model = dbtModel('persons');
  expect(model).toContain('gone.key = version.person_uuid AND gone._seq > version._seq');
  expect(model.replaceAll(/(?:version|known|gone)\.\w+/g, '').match(/person_uuid|\b_seq\b|\w+_at\b/g)).toEqual([
    'person_uuid',
    '_seq',
  ]);
});
