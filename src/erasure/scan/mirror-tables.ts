import { z } from 'zod';
import { readJson } from '../../core/exact-json.ts';
import { mirroredDatasets } from '../../contract/datasets.ts';
import { TargetName, elsewhereTargets, fixedTargets } from '../../ledger/target.ts';
import {
  assurances,
  attentionReasons,
  bases,
  heldReasons,
  refusalReasons,
  requestStates,
  targetResults,
  targetStatuses,
  waitReasons,
} from '../../ledger/vocabulary.ts';
import { historySeries } from '../../mirror/history.ts';
import { sideTables } from '../../mirror/tables.ts';

/**
 * How a row is judged:
 * - rightful: it may stay, unless it is about a subject;
 * - feed: it is of a feed of deletions, which names deleted rows by their keys;
 * - unread: it is in quarantine, and about every person that its texts name;
 * - own: this program has noted it for itself, in fixed words;
 * - other: it can be anything, and its text is no excuse for a match elsewhere.
 */
export type RowOrigin = 'rightful' | 'feed' | 'unread' | 'own' | 'other';

const rightful = [
  ...mirroredDatasets,
  ...sideTables.map(({ table }) => table),
  'mirrored_project',
  'properties',
  'published_fields',
  'schema_migrations',
  'sqlite_schema',
];

/** How the rows of each table are judged. A table that is in no list here is `other`. */
const origins: Readonly<Record<string, RowOrigin>> = {
  ...Object.fromEntries(rightful.map((table) => [table, 'rightful'])),
  deletions: 'feed',
  changes: 'feed',
  quarantine: 'unread',
};

const reasons = [...heldReasons, ...refusalReasons, ...attentionReasons] as const;

/** Every fixed word of the tables of erasures, and of SQLite's files. The mirror's log holds older versions of their rows. */
export const fixedWords: readonly string[] = [
  'SQLite format 3',
  ...requestStates,
  ...targetStatuses,
  ...bases,
  ...reasons,
  ...fixedTargets,
  ...elsewhereTargets,
  ...targetResults,
  ...assurances,
  ...waitReasons,
];

type Conforms = (value: unknown) => boolean;

const isId: Conforms = (value) => z.guid().lowercase().safeParse(value).success;
const oneOf =
  (words: readonly string[]): Conforms =>
  (value) =>
    words.some((word) => word === value);

const jsonOf =
  (isGood: Conforms): Conforms =>
  (value) =>
    typeof value === 'string' && holdsOnly(readJson(value), isGood);

/** What the columns of this program's own tables hold when all is right. Their other columns may hold anything. */
const knownColumns: Readonly<Record<string, Readonly<Record<string, Conforms>>>> = {
  // Numbers, under names that jobs give them; and the plan of a walk. Neither holds anything of a person.
  runs: { counts: jsonOf((one) => typeof one === 'number') },
  passes: { plan: jsonOf((one) => typeof one === 'number' || one === 'auto' || one === null) },
  history: { day: isDay, series: oneOf(historySeries), value: isCount },
  fence: { request_id: isId },
  box_parts: { request_id: isId },
  erasure_requests: {
    id: isId,
    basis: oneOf(bases),
    state: oneOf(requestStates),
    reason: oneOf(reasons),
    waits_for: oneOf(waitReasons),
    erased_by: isId,
  },
  erasure_targets: {
    request_id: isId,
    target: (value) => TargetName.safeParse(value).success,
    status: oneOf(targetStatuses),
    result: oneOf(targetResults),
    assurance: oneOf(assurances),
    reason: oneOf(reasons),
  },
};

/** How the rows of a table are judged. */
export function originOf(table: string): RowOrigin {
  return origins[table] ?? (Object.hasOwn(knownColumns, table) ? 'own' : 'other');
}

/** Whether a value is what this program writes into its own table: it is then never a match. */
export function isKnownValue(table: string, column: string, value: unknown): boolean {
  return knownColumns[table]?.[column]?.(value) ?? false;
}

function isDay(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Whether a value is an object, nested or not, whose names look like this program's names and whose values are all good. */
function holdsOnly(value: unknown, isGood: Conforms): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).every(
      ([name, child]) => /^[a-z][A-Za-z_]*$/.test(name) && (isGood(child) || holdsOnly(child, isGood)),
    )
  );
}
