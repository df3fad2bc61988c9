import { stringify } from 'csv-stringify/sync';
import { Person } from '../../contract/resources.ts';
import { microsToIso } from '../store/micros.ts';
import type { PersonRow } from '../store/person-row.ts';
import type { Content } from './endpoint-handler.ts';

/** What `format=csv` gives: a header, then one row for each person; distinct ids and properties as JSON text. */
export function personCsv(rows: readonly PersonRow[]): Content {
  const records = rows.map(
    ({
      id,
      name,
      distinctIds,
      properties,
      createdAtMicros,
      uuid,
    }): Record<keyof Person, string | number> => ({
      id,
      name,
      distinct_ids: distinctIds,
      properties,
      created_at: microsToIso(createdAtMicros),
      uuid,
    }),
  );
  const text = stringify(records, { header: true, columns: Object.keys(Person.shape) });
  return { type: 'text/csv; charset=utf-8', text };
}
