import { expect, test } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { publishRows, rowsOfSnapshot } from './publish-rows.ts';
import { personRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { signal } = new AbortController();

// `owner`, `kind` and `value` were two columns each then: no erasure went on, nor could any be added.
test('a promoted column can have the name of any column that an erasure works with', async () => {
  const dataDir = temporaryFolder();
  const names = ['owner', 'kind', 'value', 'file', 'row', 'key', 'text', 'subject', 'gone', 'trimmed', 'part'];
  const promote = names.map((as) => ({ property: as, as, type: 'string' as const }));
  const properties = JSON.stringify(Object.fromEntries(names.map((name) => [name, 'person_uuid'])));
  const rows = [
    personRow('a', { properties, distinct_ids: '["a1"]' }),
    personRow('b', { properties, distinct_ids: '["a1","b1"]' }),
    personRow('c', { properties }),
  ];
  const snapshotId = await publishRows(dataDir, 'persons', rows, { promote });
  const subject = { ...nobody, person_uuid: ['a'], distinct_id: ['a1'] };
  const published = publishedFilesIn(dataDir);
  await rewriteSnapshot(published, 'persons', snapshotId, ['part-00001.parquet'], [subject], { epoch: 1, signal });
  const { parts } = await rowsOfSnapshot(dataDir, 'persons', snapshotId);
  expect(parts.flat()).toMatchObject([
    { person_uuid: 'b', distinct_ids: ['b1'], owner: 'person_uuid' },
    { person_uuid: 'c', distinct_ids: ['ann', 'ann@example.com'], value: 'person_uuid' },
  ]);
});
