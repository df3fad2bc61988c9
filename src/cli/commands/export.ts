import { Argument, Option, type Command } from 'commander';
import type { App } from '../../app/app.ts';
import { datasets as table, type PublishedDataset, publishedDatasets } from '../../contract/datasets.ts';
import { bytesText, secondText } from '../../core/words.ts';
import type { OnProgress } from '../../job/job-context.ts';
import { runExportJob, type ExportJobResult } from '../../worker/export-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { bucketJson, bucketText, catalogJson, catalogText } from '../bucket-text.ts';
import { reportProgress } from '../progress.ts';
import { formatTable } from '../table.ts';

/** Defines `export`: publishes a Parquet snapshot of each dataset. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .addArgument(new Argument('[datasets...]', 'the datasets to publish; by default all').choices(publishedDatasets))
    .addOption(
      new Option('--kind <kind>', 'full has every row, delta the rows that changed since the newest snapshot')
        .choices(['full', 'delta'])
        .default('full'),
    );
  return {
    help: `
All snapshots show the mirror at one moment. Readers follow snapshots/CURRENT.json, which is replaced last, once for all. What belongs
to the named datasets comes along: deletions and passes, and distinct_ids with persons, where it is published. A delta continues
the newest snapshot of persons, recordings or playlists. A full snapshot is made instead where the changes since then are unknown,
and for the other datasets. Where nothing has changed, nothing new is published; unchangedSince of --json says since when.
A dataset is published only after a full pass over its list was complete once.
A bucket (export.destination) is made equal to the folder at the end.
Exit codes: 0 published, 4 not published, or published although the last pass over the list was not complete, or the bucket
or the catalog could not follow.

Examples:
  analytics-mirror export
  analytics-mirror export --kind delta
  analytics-mirror export persons --set export.partRows=250000`,
    run: async (app, datasets: PublishedDataset[], { kind }: { kind: 'full' | 'delta' }) => {
      const { outcome, snapshots, neverComplete, bucket, catalog } = await exportNow(
        app,
        context,
        datasets.length > 0 ? datasets : null,
        kind,
      );
      const shown = snapshots.length === 0 ? '' : snapshotTable(snapshots);
      const text = `${shown}${unchangedText(snapshots)}${neverCompleteText(neverComplete)}${bucketText(bucket)}${catalogText(catalog)}`;
      const json = { outcome, snapshots, neverComplete, bucket: bucketJson(bucket), catalog: catalogJson(catalog) };
      return { ended: outcome === 'incomplete' ? 'incomplete' : 'done', json, text };
    },
  };
}

/** Exports with progress bars. */
export function exportNow(
  app: App,
  context: CommandContext,
  datasets: readonly PublishedDataset[] | null,
  kind: 'full' | 'delta' = 'full',
): Promise<ExportJobResult> {
  return reportProgress(context, 'export', async (onProgress: OnProgress<PublishedDataset>) => {
    // First: opening the mirror for writing would make one where there is none.
    const source = app.databaseReadOnly();
    return runExportJob(app.jobContext(context.signal), { datasets, kind, source, onProgress });
  });
}

function unchangedText(snapshots: ExportJobResult['snapshots']): string {
  const unchanged = snapshots.flatMap(({ dataset, unchangedSince }) =>
    unchangedSince === null ? [] : [`${dataset} since ${secondText(unchangedSince)}`],
  );
  return unchanged.length === 0 ? '' : `Unchanged, so nothing new was published: ${unchanged.join(', ')}.\n`;
}

function neverCompleteText(neverComplete: readonly PublishedDataset[]): string {
  if (neverComplete.length === 0) return '';
  const lists = [...new Set(neverComplete.map((dataset) => table[dataset].published.pass))];
  return `NOT PUBLISHED: ${neverComplete.join(', ')}. No full pass over ${lists.join(' and ')} has ever been complete, so rows may be missing.
Run analytics-mirror sync ${lists.join(' ')} until it is complete, then export again.
`;
}

function snapshotTable(snapshots: ExportJobResult['snapshots']): string {
  return formatTable(
    ['dataset', 'snapshot', 'kind', 'rows', 'files', { right: 'size' }, 'from a pass that was'],
    snapshots.map(({ dataset, snapshotId, kind, rows, files, bytes, verdict }) => [
      dataset,
      snapshotId,
      kind,
      rows,
      files,
      bytesText(bytes),
      verdict ?? 'never made',
    ]),
  );
}
