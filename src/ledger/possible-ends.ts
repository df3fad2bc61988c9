import { readTarget, type FixedTarget, type TargetName } from './target.ts';
import type { Assurance, TargetResult } from './vocabulary.ts';

/** What a target can come to. A public rule (docs/verifier/RECORDS.md): what is not here, nobody can have seen. */
const resultsOf: Readonly<Record<FixedTarget | 'file', readonly TargetResult[]>> = {
  'upstream.person': ['deleted', 'already_absent', 'still_present', 'not_verifiable'],
  'upstream.events': ['kept', 'confirmed', 'partly_deleted', 'unconfirmed', 'not_queued', 'not_verifiable'],
  'upstream.recordings': [
    'deleted',
    'absent',
    'deletion_requested',
    'not_applicable',
    'not_deletable_via_api',
    'not_deletable_by_key',
    'still_present',
    'not_verifiable',
  ],
  'upstream.playlists': ['removed', 'not_applicable', 'not_deletable_by_key', 'still_present', 'not_verifiable'],
  mirror: ['purged'],
  aux: ['purged'],
  bucket: ['absent', 'locked'],
  copies: ['absent'],
  file: ['rewritten', 'file_gone'],
};

/** How far a result can be believed. */
const assurancesOf: Readonly<Record<TargetResult, readonly Assurance[]>> = {
  deleted: ['observed'],
  already_absent: ['observed'],
  still_present: ['observed'],
  confirmed: ['asserted_by_upstream'],
  not_verifiable: ['not_verifiable'],
  unconfirmed: ['not_verifiable'],
  partly_deleted: ['asserted_by_upstream'],
  not_queued: ['not_verifiable'],
  kept: ['observed'],
  absent: ['observed', 'not_verifiable'],
  not_deletable_via_api: ['not_verifiable'],
  not_deletable_by_key: ['not_verifiable'],
  deletion_requested: ['asserted_by_upstream', 'not_verifiable'],
  removed: ['observed', 'not_verifiable'],
  purged: ['verified', 'observed'],
  rewritten: ['verified'],
  file_gone: ['observed'],
  locked: ['observed'],
  not_applicable: ['observed', 'not_verifiable'],
};

type End = {
  target: TargetName;
  result: TargetResult;
  assurance: Assurance;
  until?: string | undefined;
  machines?: readonly string[] | undefined;
};

/** Whether a target can have ended so: `until` is of `locked` and `partly_deleted` alone, `machines` of `copies`. */
export function isPossibleEnd({ target, result, assurance, until, machines }: End): boolean {
  const read = readTarget(target);
  return (
    resultsOf[typeof read === 'string' ? read : 'file'].includes(result) &&
    assurancesOf[result].includes(assurance) &&
    (until === undefined || result === 'locked' || result === 'partly_deleted') &&
    (machines === undefined || target === 'copies')
  );
}
