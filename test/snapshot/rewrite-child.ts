import { nobody } from '../../src/contract/identity.ts';
import { removeUnnamedParts } from '../../src/snapshot/remove-unnamed.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { watchDiskChanges } from '../export/fault-points.ts';

// Rewrites two parts, or recovers, and is killed before the nth change of the disk.
const [dataDir = '', job, snapshotId = '', killedAt] = process.argv.slice(2);
watchDiskChanges((step) => {
  if (step === Number(killedAt)) process.kill(process.pid, 'SIGKILL');
});
if (job === 'recover') removeUnnamedParts(publishedFilesIn(dataDir));
else
  await rewriteSnapshot(
    publishedFilesIn(dataDir),
    'persons',
    snapshotId,
    ['part-00001.parquet', 'part-00002.parquet'],
    { ...nobody, person_uuid: ['a', 'd'] },
    { epoch: 4, signal: new AbortController().signal },
  );
