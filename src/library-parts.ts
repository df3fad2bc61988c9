// What the package's entry uses of the program. It is loaded in one step, after the entry has looked at the version of Node.
export { createApp } from './app/app.ts';
export { mirroredDatasets, pagedDatasets, publishedDatasets } from './contract/datasets.ts';
export { AppError } from './core/errors.ts';
export { openDatabaseReadOnly } from './mirror/database.ts';
export { listCurrentSnapshots } from './snapshot/current-snapshots.ts';
export { publishedFilesIn } from './snapshot/published-files.ts';
export { runExportJob } from './worker/export-job.ts';
export { runSyncJob } from './worker/sync-job.ts';
