import { codeText, countText, minuteText } from '../core/words.ts';
import { isFile, type FixedTarget, type Target } from './target.ts';
import type {
  bases,
  Evidence,
  Origin,
  RequestReason,
  RequestState,
  TargetResult,
  TargetStatus,
  WaitReason,
} from './vocabulary.ts';

// The words of the vocabulary for people: commands, pages and reports use the same ones. JSON and CSV keep the codes.

const stateWords: Readonly<Record<RequestState, string>> = {
  received: 'received',
  scoped: 'found, not begun',
  held: 'held for approval',
  refused: 'refused',
  cancelled: 'cancelled',
  fenced: 'begun',
  executing: 'begun',
  locally_verified: 'erased here',
  awaiting_upstream: 'erased here, waiting for the service',
  attention: 'needs attention',
  certified: 'complete',
  sealed: 'ended and sealed',
};

/** The state of an erasure request, in words. */
export function stateText(state: RequestState): string {
  return stateWords[state];
}

/** Why a request without a certificate gets none any more, by its state; undefined where it may still get one. */
export function uncertifiedText(state: RequestState): string | undefined {
  if (state === 'refused' || state === 'cancelled') return `it was ${stateWords[state]}: it gets no certificate`;
  return state === 'certified' || state === 'sealed' ? 'it ended without a certificate' : undefined;
}

/** Counts of erasure requests by state, as pairs of words and a number; states with the same words are added up. */
export function stateCounts(states: Partial<Record<RequestState, number>>): [text: string, count: string][] {
  const counts = Object.entries(states) as [RequestState, number][];
  return [...Map.groupBy(counts, ([state]) => stateText(state))].map(([text, group]) => [
    text,
    countText(group.reduce((sum, [, count]) => sum + count, 0)),
  ]);
}

const targetWords: Readonly<Record<FixedTarget | 'snapshot', string>> = {
  'upstream.person': 'The person at the service',
  'upstream.events': 'The person’s events at the service',
  'upstream.recordings': 'Session recordings at the service',
  'upstream.playlists': 'Entries in playlists at the service',
  mirror: 'The local mirror (mirror.db)',
  aux: 'Quarantine, temporary files and reports',
  bucket: 'The bucket that follows the published files',
  copies: 'The state in the bucket of the cluster, and copies on its machines',
  snapshot: 'Published files',
};

/** The kind of a target: a fixed target itself, and `snapshot` for every published file. */
export type TargetKind = keyof typeof targetWords;

/** The kind of a target. */
export function kindOfTarget(target: Target): TargetKind {
  return isFile(target) ? 'snapshot' : target;
}

/** A kind of target, in words. */
export function targetKindText(kind: TargetKind): string {
  return targetWords[kind];
}

/** A target in words; a published file by its dataset, snapshot and name. */
export function targetText(target: Target): string {
  return isFile(target) ? `published file ${target.dataset}/${target.snapshotId}/${target.name}` : targetWords[target];
}

const statusWords: Readonly<Record<TargetStatus, string>> = {
  pending: 'not begun',
  intended: 'begun',
  waiting: 'waiting for the service',
  attention: 'needs attention',
  done: 'done',
};

/** The status of a target, in words. */
export function statusText(status: TargetStatus): string {
  return statusWords[status];
}

const resultWords: Readonly<Record<TargetResult, string>> = {
  deleted: 'deleted',
  already_absent: 'already gone',
  still_present: 'still there when last asked',
  confirmed: 'confirmed by the service',
  not_verifiable: 'cannot be verified',
  unconfirmed: 'not confirmed',
  partly_deleted: 'deleted in part only, as the service says',
  not_queued: 'the service shows no deletion for this request',
  kept: 'kept, as the request said',
  absent: 'no longer there',
  not_deletable_via_api: 'still there: this program was given no way to delete it',
  not_deletable_by_key: 'still there: the service does not let this key delete it',
  deletion_requested: 'deletion requested together with the person, not seen to be done',
  removed: 'removed',
  purged: 'purged',
  rewritten: 'rewritten without the person',
  file_gone: 'the file is gone',
  locked: 'still there: a lock keeps it',
  not_applicable: 'nothing to do',
};

/** The result of a target in words; `still open` where it has none. */
export function resultText(result: TargetResult | null): string {
  return result === null ? 'still open' : resultWords[result];
}

/** What each kind of evidence is called, and what it means to a reader of a report. */
export const evidenceWords: Readonly<Record<Evidence, { name: string; means: string }>> = {
  not_reached: {
    name: 'Not reached',
    means:
      'The data, or a part of them, are still there. The request left them, or the service offers no way to delete them, or it shows no deletion of all of them, or it still had the person when last asked, or a lock in the bucket keeps them.',
  },
  not_verifiable: { name: 'Not verifiable', means: 'This program cannot check it: there is nothing to look at.' },
  asserted_by_upstream: {
    name: 'Asserted by the service',
    means: 'The service says that it has done it. The ledger holds its answer, but this program cannot check it.',
  },
  observed: {
    name: 'Observed',
    means:
      'This program looked from outside: the data were gone, or there was nothing to do. For files of our copy, a search found nothing, but no search before had found the person either. No stored bytes show it.',
  },
  verified: {
    name: 'Verified',
    means:
      'A search before had found the person: rows in the very file, where one was rewritten, or else one file at least. Afterwards another read what is stored, and found nothing.',
  },
};

const basisWords: Readonly<Record<(typeof bases)[number], string>> = {
  consent_withdrawn: 'consent withdrawn',
  objection: 'objection',
  no_longer_needed: 'no longer needed',
  unlawful: 'processed unlawfully',
  legal_obligation: 'legal obligation',
  child_consent: 'collected from a child',
  consumer_request: 'a consumer’s request',
  deleted_upstream: 'deleted at the service',
  restored_backup: 'brought back by a restored backup',
  other: 'other',
};

/** The basis of an erasure request, in words. An operator's own code is shown as it is. */
export function basisText(basis: string): string {
  return Object.hasOwn(basisWords, basis) ? basisWords[basis as keyof typeof basisWords] : codeText(basis);
}

const originWords: Readonly<Record<Origin, string>> = {
  manual: 'an operator',
  upstream: 'a deletion at the service',
  restore: 'an older copy of the mirror',
};

/** The origin of an erasure request, in words. */
export function originText(origin: Origin): string {
  return originWords[origin];
}

const advice: Readonly<Record<RequestReason, string>> = {
  events_unconfirmed:
    'the person is gone at the service, but the answer to the deletion was lost. Ask the service about the events. `erase approve` ends the request as unconfirmed',
  events_overdue:
    'the weekly batch should have run twice. Ask the service why the events are still there. `erase approve` ends the request as unconfirmed',
  events_queued_before:
    'the service has a deletion of these events from before this request. While that one waits, or on older releases for ever, the service queues no other one, although it answers that it has; and once the person is gone, none can be queued. The program waits for the earlier one, and then deletes the person. `erase approve` lets it go on at once: then only the events up to the earlier deletion may be deleted',
  events_not_queued:
    'the service took the deletion and shows none of the events that belongs to this request. The person is gone there, so none can be queued any more. Ask the service to delete the events. The request ends by itself; `erase approve` ends it now',
  reader_holds_wal: 'another process reads mirror.db. End it and reconcile again',
  residue_found:
    'the data folder still holds texts of the person. `erase scan` says where. In mirror.db it can be the reference (--by) or the basis of an open request that has words of the person: `erase amend` that one. It can be a row of a person who was merged: `sync`. Reconcile again',
  outcome_unknown: 'the service does not show what was expected. Look at the person there and reconcile again',
  distinct_id_elsewhere:
    'another person at the service has a distinct id of this person, and was there before this program sent a deletion: a part that was split off, or somebody else. `erase show` names that person by uuid. If it is a part, `sync`, and `erase add` it by uuid: this request goes on once it is gone. If it is somebody else, `erase approve` leaves the distinct id to that person there; here, a person whom the mirror did not have before is kept out',
  upstream_refuses: 'the service refuses the deletion. Look at the person there. The program tries again a day later',
  playlist_refused:
    'the service does not let this key take a recording of the person out of a playlist. Give the key the scope session_recording_playlist:write, or take it out there. The program tries again a day later. `erase approve` ends the request with the entry in the playlist',
  recreated: 'the service has the person again. `erase add` with the same identifier opens the request again',
  life_exceeded:
    'the time of the request is over (erasure.maxRequestDays), and its identifiers are destroyed. Not everything was shown by then, so there is no certificate of it. Add the person again to go on',
  restored: 'an older copy of the mirror had brought the person back. Reconcile, and the person is erased again',
  listed_again:
    'the service lists the person or a recording again, although it had said that it is gone. `erase readmit` lets the person in again. To erase the person at the service, `erase add` the person by uuid. Of a recording alone the uuid leads to nothing: `erase readmit`, `sync`, and `erase add` by its distinct id. `erase approve` ends this request without a new certificate',
  shown_wider:
    'the service shows that more belongs to the person than was known: distinct ids, or a person that was merged into it. Reconcile, and all of it is erased',
  file_differs:
    'a published file is not the one that the ledger has. Reconcile, and the person is taken out of it again',
  bucket_unreachable:
    'the bucket could not be made equal to what is here. `doctor` says what it answers. Reconcile again',
  bucket_refuses:
    'the bucket refuses to be listed, written or emptied, or an earlier one still holds files. `doctor` says what is missing. Mend it, and reconcile again',
  bucket_locked: 'a lock keeps old versions in the bucket. `doctor` says until when. The program tries again',
  copy_elsewhere:
    'a machine of the cluster may still have a copy. `cluster list` names it. Start it, so that it deletes its copy; or `cluster forget` it, if it is gone for good',
  shared_identifier:
    'a living person shares something with this person. `erase approve` erases the rest and leaves the shared part to the other person',
  several_persons:
    'the identifier leads to several living persons. `erase approve` erases all of them. Otherwise `erase cancel`, and add the right persons by uuid',
  too_many: 'more requests or persons at once than erasure.maxBatch. `erase approve` lets them go on',
  already_erased:
    'an earlier request has erased the person here, and nothing is held. Where that one kept the events, ask the service to delete them. `where` with the same identifier names that request; `audit certificate` shows its certificate once the service is done, too',
  unknown_subject:
    'the identifier is not in the mirror, not in the files and not at the service. Look for a typing error and add it again',
};

/** What an operator can do about a reason; commands stand between backticks. */
export function adviceText(reason: RequestReason): string {
  return advice[reason];
}

const waits: Readonly<Record<WaitReason, string>> = {
  no_service: 'no service is configured. Set service.baseUrl, service.projectId and the key, and reconcile again',
  service_unreachable: 'the service did not answer. `doctor` says whether it can be reached. Reconcile again',
  service_refuses_key: 'the service refuses the key or the project. `doctor` checks both. Reconcile again',
  service_rejects: 'the service rejects the question about the person. Look at the person there, and reconcile again',
  service_unusable:
    'the service answered with something that cannot be used, or more than 10,000 persons have the address. `doctor` shows its state. Reconcile again, or add the persons by uuid',
  mirror_is_read:
    'another program reads mirror.db and has not ended, so what was deleted there is not overwritten yet. End it (`lsof` names it), and reconcile again',
};

/** Why an open request needs an operator, and what to do; null where it goes on by itself. */
export function todoText({
  reason,
  waitsFor,
}: {
  reason: RequestReason | null;
  waitsFor: WaitReason | null;
}): string | null {
  if (reason !== null) return adviceText(reason);
  return waitsFor === null ? null : waits[waitsFor];
}

/** What an open request does next by itself. `waitsUntil`: when the next of what is left is due; null where something is due now. */
export function nextText(waitsUntil: string | null): string {
  if (waitsUntil === null) return 'the next reconciliation goes on with it';
  return `nothing; it waits for the service, which is asked again from ${minuteText(waitsUntil)}`;
}
