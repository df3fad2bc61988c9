// The closed sets of words that erasure requests, their targets, the ledger and the pages share.

/** Why a person is erased. The ledger records a code that is none of these as `other`. */
export const bases = [
  'consent_withdrawn',
  'objection',
  'no_longer_needed',
  'unlawful',
  'legal_obligation',
  'child_consent',
  'consumer_request',
  'deleted_upstream',
  'restored_backup',
  'other',
] as const;

/** A basis as the ledger records it: an operator's own code is `other` there. */
export function basisCode(basis: string): (typeof bases)[number] {
  return bases.find((known) => known === basis) ?? 'other';
}

/** Who decided about a request, as the operator says: a role, never a name. */
export const deciders = ['data_protection_officer', 'privacy_team', 'legal_team', 'support', 'automatic'] as const;

/** How the operator says that it checked the identity of the person. */
export const identityChecks = ['logged_in', 'answered_at_address', 'document', 'in_person', 'not_checked'] as const;

/** Which exception of Art. 17(3) GDPR allows to keep what is kept, as the operator says. */
export const exceptions = [
  'free_expression',
  'legal_obligation',
  'public_health',
  'archiving',
  'legal_claims',
  'other',
] as const;

/** Where a request came from: an operator, a deletion that the sync found, or a restored older database. */
export const origins = ['manual', 'upstream', 'restore'] as const;
export type Origin = (typeof origins)[number];

/** How far a request is: a function of its facts and its targets. */
export const requestStates = [
  'received',
  'scoped',
  'held',
  'refused',
  'cancelled',
  'fenced',
  'executing',
  'locally_verified',
  'awaiting_upstream',
  'attention',
  'certified',
  'sealed',
] as const;
export type RequestState = (typeof requestStates)[number];

/** How far a target is. `intended`: the work on it may have begun, and its result is not recorded yet. */
export const targetStatuses = ['pending', 'intended', 'waiting', 'attention', 'done'] as const;
export type TargetStatus = (typeof targetStatuses)[number];

/** How a target ended. */
export const targetResults = [
  // upstream.person
  'deleted',
  'already_absent',
  'still_present',
  // upstream.events
  'confirmed',
  'not_verifiable',
  'unconfirmed',
  'partly_deleted',
  'not_queued',
  'kept',
  // upstream.recordings
  'absent',
  'not_deletable_via_api',
  'not_deletable_by_key',
  'deletion_requested',
  // upstream.playlists
  'removed',
  // mirror, aux
  'purged',
  // published files
  'rewritten',
  'file_gone',
  // bucket, beside `absent`
  'locked',
  // any target: there was nothing to do
  'not_applicable',
] as const;
export type TargetResult = (typeof targetResults)[number];

/** How far a result can be believed, weakest first. */
export const assurances = ['not_verifiable', 'asserted_by_upstream', 'observed', 'verified'] as const;
export type Assurance = (typeof assurances)[number];

/** How strong the evidence is that a target was reached, weakest first: that it was not, or the assurance that it was. */
export const evidences = ['not_reached', ...assurances] as const;
export type Evidence = (typeof evidences)[number];

const leaving: readonly TargetResult[] = [
  'kept',
  'not_deletable_via_api',
  'not_deletable_by_key',
  'still_present',
  'locked',
  'partly_deleted',
  'not_queued',
];

/** The evidence for a target. A target that was left as it was, or in part, is not reached, however sure that is. */
export function evidenceOf({ result, assurance }: { result: TargetResult; assurance: Evidence }): Evidence {
  return leaving.includes(result) ? 'not_reached' : assurance;
}

/** Why a request waits for an approval. */
export const heldReasons = ['shared_identifier', 'several_persons', 'too_many'] as const;
export type HeldReason = (typeof heldReasons)[number];

/** Why a request is refused. */
export const refusalReasons = ['unknown_subject', 'already_erased'] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** Why an operator has to look at a target. */
export const attentionReasons = [
  'events_unconfirmed',
  'events_overdue',
  'events_queued_before',
  'events_not_queued',
  'reader_holds_wal',
  'residue_found',
  'outcome_unknown',
  'distinct_id_elsewhere',
  'upstream_refuses',
  'playlist_refused',
  'recreated',
  'life_exceeded',
  'restored',
  'listed_again',
  'shown_wider',
  'file_differs',
  'bucket_unreachable',
  'bucket_refuses',
  'bucket_locked',
  'copy_elsewhere',
] as const;
export type AttentionReason = (typeof attentionReasons)[number];

/**
 * Why an open request cannot go on by itself, beside its reason: there is no service to ask, it gave no answer, it refuses
 * the key or the project, it rejects the question, or its answer cannot be used; or another program reads the mirror. Not on the ledger.
 */
export const waitReasons = [
  'no_service',
  'service_unreachable',
  'service_refuses_key',
  'service_rejects',
  'service_unusable',
  'mirror_is_read',
] as const;
export type WaitReason = (typeof waitReasons)[number];

/** What is held against the ledger: published files, the suppression list, the states of requests, and three keys. */
export const boundParts = ['snapshots', 'fence', 'requests', 'fence_key', 'box_key', 'restore_key'] as const;
export type BoundPart = (typeof boundParts)[number];

/** The keys of which the ledger has a check value. */
export const boundKeys = ['fence', 'box', 'restore'] as const;
export type BoundKey = (typeof boundKeys)[number];

/**
 * Why the ledger says which manifests stand: they were published, a kill had left it open, the program found them when it
 * began to record them, or after a difference.
 */
export const publicationCauses = ['publication', 'recovery', 'adoption', 'repair'] as const;

/** Why a request is in its state: why it is held, refused or in attention. */
export type RequestReason = HeldReason | RefusalReason | AttentionReason;
