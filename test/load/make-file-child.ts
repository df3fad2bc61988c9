import process from 'node:process';
import { warehousePlace } from '../../src/load/address.ts';
import { withWarehouse } from '../../src/load/open-warehouse.ts';

// Opens the file of a warehouse, which makes it where it is missing, and fills a table: make-file-child.ts FOLDER FILE ROWS [SCHEMA].
const [localFolder = '', file = '', rows = '', schema = 'mirror'] = process.argv.slice(2);
await withWarehouse(
  warehousePlace(file, schema, null),
  { published: { localFolder }, isReadOnly: false, signal: new AbortController().signal },
  ({ nameOf, query, together }) =>
    together(
      async () =>
        void (await query(`CREATE TABLE ${nameOf('made')} AS SELECT md5(range::VARCHAR) FROM range(${rows})`)),
    ),
);
