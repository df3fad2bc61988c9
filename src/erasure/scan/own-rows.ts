import { TargetName, fixedTargets } from '../../ledger/target.ts';
import {
  assurances,
  attentionReasons,
  bases,
  heldReasons,
  requestStates,
  targetResults,
  targetStatuses,
} from '../../ledger/vocabulary.ts';
import { readJson } from '../../core/exact-json.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const reasons = [...heldReasons, 'unknown_subject', ...attentionReasons] as const;

/** Every word that the tables of erasures may hold: older versions of their rows are in the mirror's log. */
export const ownWords: readonly string[] = [
  ...new Set([
    ...requestStates,
    ...targetStatuses,
    ...bases,
    ...reasons,
    ...fixedTargets,
    ...targetResults,
    ...assurances,
  ]),
];

type Conforms = (value: unknown) => boolean;

const isId: Conforms = (value) => typeof value === 'string' && uuid.test(value);
const oneOf =
  (words: readonly string[]): Conforms =>
  (value) =>
    words.some((word) => word === value);

/** What the columns of this program's own tables hold where all is right. All others may hold anything. */
const columnsOf: Readonly<Record<string, Readonly<Record<string, Conforms>>>> = {
  runs: { counts: areCounts },
  passes: { plan: isPlan },
  fence: { request_id: isId },
  erasure_requests: {
    id: isId,
    basis: oneOf(bases),
    state: oneOf(requestStates),
    reason: oneOf(reasons),
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

/** Whether a table holds what this program notes for itself, in words of its own. */
export function isOwnTable(table: string): boolean {
  return Object.hasOwn(columnsOf, table);
}

/** Whether a value is in this program's own words, and so nobody's. */
export function isOwnValue(table: string, column: string, value: unknown): boolean {
  return columnsOf[table]?.[column]?.(value) ?? false;
}

/** Numbers by the names that jobs give them, and numbers only. */
function areCounts(value: unknown): boolean {
  return typeof value === 'string' && holdsOnly(readJson(value), (one) => typeof one === 'number');
}

/** How a list is walked, without anything that was asked of it. */
function isPlan(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    holdsOnly(readJson(value), (one) => typeof one === 'number' || one === 'auto' || one === null)
  );
}

/** Whether a value is an object of such values under names as the program's code has them, and of such objects. */
function holdsOnly(value: unknown, isGood: Conforms): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).every(
      ([name, child]) => /^[a-z][A-Za-z_]*$/.test(name) && (isGood(child) || holdsOnly(child, isGood)),
    )
  );
}
