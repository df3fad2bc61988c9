import { isJsonObject } from '../core/exact-json.ts';
import { Person } from './resources.ts';
import { tolerantReader, type RowReader } from './tolerant-reader.ts';

const identifying = ['uuid', 'id', 'distinct_ids', 'created_at'];
const readPerson = tolerantReader(Person, 'uuid');

/** Reads of a person who it is and nothing else: whatever the rest of the row holds, it keeps nobody from being erased. */
export const readIdentityOfPerson: RowReader = (row) =>
  readPerson(
    isJsonObject(row)
      ? Object.fromEntries(Object.entries(row).filter(([field]) => identifying.includes(field)))
      : row,
  );
