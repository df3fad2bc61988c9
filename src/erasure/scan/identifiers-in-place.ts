import { z } from 'zod';
import { readJson, isJsonObject, integerText, parseExactJson } from '../../core/exact-json.ts';
import { datasets, findDataset, keyKind } from '../../contract/datasets.ts';
import type { Identifier, IdentifierKind } from '../../contract/identity.ts';
import { sideTables } from '../../mirror/tables.ts';

const uuid = z.regexes.guid;

/** The columns that identify what a row is about, by table or published dataset. All others are free text. */
const columnKinds = new Map<string, Map<string, IdentifierKind>>();
const note = (table: string, column: string, kind: IdentifierKind): void => {
  columnKinds.set(table, (columnKinds.get(table) ?? new Map<string, IdentifierKind>()).set(column, kind));
};
for (const [dataset, { identifiers, heldIds }] of Object.entries(datasets))
  for (const { name, column, role } of heldIds ? [...identifiers, heldIds] : identifiers) {
    note(dataset, name, role);
    note(dataset, column, role);
  }
for (const { table, column, kind } of sideTables) note(table, column, kind);

/**
 * The identifiers by which a column says what its row is about, each of the kind that the column holds. `deletedFrom`: the
 * dataset that a row of a feed names. A value within properties, filters and other free text is never one, whatever its name.
 */
export function identifiersInPlace(
  dataset: string,
  column: string,
  value: unknown,
  deletedFrom?: unknown,
): Identifier[] {
  if (column === findDataset(dataset)?.embeddedPerson) return embeddedIdentifiers(value);
  if (column === 'key' && (dataset === 'changes' || dataset === 'deletions'))
    return keyIdentifiers(String(deletedFrom), value);
  const kind = columnKinds.get(dataset)?.get(column);
  if (kind === undefined) return [];
  // A column of the mirror holds its list as JSON.
  return column === findDataset(dataset)?.heldIds?.name && typeof value === 'string'
    ? identifiersOf(kind, readJson(value, parseExactJson))
    : identifiersOf(kind, value);
}

/** The identifier that a key of a dataset's rows is, or a bound of such keys; none for a key that no row can have. */
export function keyIdentifiers(dataset: string, key: unknown): Identifier[] {
  const kind = keyKind(dataset);
  return kind === undefined ? [] : identifiersOf(kind, key);
}

function embeddedIdentifiers(value: unknown): Identifier[] {
  const person = typeof value === 'string' ? readJson(value, parseExactJson) : undefined;
  if (!isJsonObject(person)) return [];
  return [
    ...identifiersOf('person_uuid', person['uuid']),
    ...identifiersOf('person_id', person['id']),
    ...identifiersOf('distinct_id', person['distinct_ids']),
  ];
}

/** The identifiers of a kind in a value or a list. */
function identifiersOf(kind: IdentifierKind, value: unknown): Identifier[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => identifierOf(kind, item));
  return identifierOf(kind, value);
}

function identifierOf(kind: IdentifierKind, value: unknown): Identifier[] {
  if (kind === 'person_id') {
    const digits = integerText(value);
    return digits === undefined ? [] : [{ kind, value: digits }];
  }
  if (typeof value !== 'string') return [];
  if (kind !== 'person_uuid') return [{ kind, value }];
  return uuid.test(value) ? [{ kind, value: value.toLowerCase() }] : [];
}
