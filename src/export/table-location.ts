import type { PublishedDataset } from '../contract/datasets.ts';
import { readTable } from '../snapshot/iceberg/table-files.ts';
import type { ExportContext } from './mirror-export.ts';

/** Where readers see the Iceberg table of a dataset; null where none is wanted. */
export function tableLocation({ published, settings }: ExportContext, dataset: PublishedDataset): string | null {
  const { iceberg, publicRoot, destination } = settings.export;
  const root = publicRoot?.replace(/(?<!\/)\/+$/, '') ?? destination ?? published.realFolder();
  return iceberg ? `${root}/${dataset}` : null;
}

/** Whether the published table of a dataset is whole, shows what CURRENT names, and lies where it should, or nowhere. */
export function isTableAsWanted(context: ExportContext, dataset: PublishedDataset): boolean {
  const { published } = context;
  const location = tableLocation(context, dataset);
  const isNamed = published.readCurrent().tables?.[dataset] !== undefined;
  return location === null ? !isNamed : readTable(published, dataset)?.metadata.location === location;
}
