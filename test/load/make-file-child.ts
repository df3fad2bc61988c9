import process from 'node:process';
import { warehousePlace } from '../../src/load/address.ts';
import { withWarehouse } from '../../src/load/open-warehouse.ts';

// Opens the file of a warehouse, which makes it where it is missing: make-file-child.ts FOLDER FILE.
const [localFolder = '', file = ''] = process.argv.slice(2);
await withWarehouse(
  warehousePlace(file, 'mirror', null),
  { published: { localFolder }, isReadOnly: false, signal: new AbortController().signal },
  () => Promise.resolve(),
);
