import { nobody } from '../../src/contract/identity.ts';
import { removeUnnamedParts } from '../../src/snapshot/publish.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';

// Rewrites two parts of a snapshot, or recovers.
const [job, snapshotId = '', dataDir = ''] = process.argv.slice(2);
if (job === 'recover') removeUnnamedParts(publishedFilesIn(dataDir));
else
  await rewriteSnapshot(
    publishedFilesIn(dataDir),
    'persons',
    snapshotId,
    ['part-00001.parquet', 'part-00002.parquet'],
    [{ ...nobody, person_uuid: ['a', 'd'] }],
    { epoch: 4, signal: new AbortController().signal },
  );
