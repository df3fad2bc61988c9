import { codeText } from '../core/words.ts';
import type { Assurance } from '../ledger/vocabulary.ts';

/** What each assurance means, for an auditor. */
export const assuranceWords: Readonly<Record<Assurance, { name: string; means: string }>> = {
  not_verifiable: {
    name: 'Not verifiable',
    means:
      'Nobody here can show it: there is nothing to look at, or the service still has it and offers no way to delete it.',
  },
  asserted_by_upstream: {
    name: 'Asserted by the service',
    means: 'The service says that it did it. That was recorded, but cannot be looked at from outside.',
  },
  observed: {
    name: 'Observed',
    means:
      'Seen from outside: when asked, it was gone, or there was nothing to do. Of files here: a search found nothing, but none before had found the person either. No stored bytes show it.',
  },
  verified: {
    name: 'Verified',
    means:
      'The stored bytes were read again afterwards, by a separate search that had found the person before, and found nothing.',
  },
};

const targetWords: Readonly<Record<string, string>> = {
  'upstream.person': 'The person at the service',
  'upstream.events': 'The person’s events at the service',
  'upstream.recordings': 'Session recordings at the service',
  'upstream.playlists': 'Entries in playlists at the service',
  mirror: 'The local mirror (mirror.db)',
  aux: 'Quarantine, temporary files and reports',
  snapshot: 'Published files',
};

/** A kind of target in words; the name itself where there are none. */
export function targetText(kind: string): string {
  return targetWords[kind] ?? kind;
}

const resultWords: Readonly<Record<string, string>> = {
  deleted: 'deleted',
  already_absent: 'was gone already',
  still_present: 'still there when last asked',
  confirmed: 'confirmed by the service',
  not_verifiable: 'cannot be verified',
  unconfirmed: 'not confirmed',
  kept: 'kept, as the request said',
  absent: 'no longer there',
  not_deletable_via_api: 'still there: the service offers no way to delete it',
  removed: 'removed',
  purged: 'purged',
  rewritten: 'written anew without the person',
  file_gone: 'the file is gone',
  not_applicable: 'there was nothing',
};

/** How a target ended, in words. */
export function resultText(result: string | null): string {
  return result === null ? 'still open' : (resultWords[result] ?? result.replaceAll('_', ' '));
}

const basisWords: Readonly<Record<string, string>> = {
  consent_withdrawn: 'consent withdrawn',
  objection: 'objection',
  no_longer_needed: 'no longer needed',
  unlawful: 'processed unlawfully',
  legal_obligation: 'legal obligation',
  deleted_upstream: 'deleted at the service',
  restored_backup: 'brought back by a restored backup',
  other: 'other',
};

/** The ground of a request, in words. */
export function basisText(basis: string): string {
  return basisWords[basis] ?? codeText(basis);
}

const originWords: Readonly<Record<string, string>> = {
  manual: 'somebody asked',
  upstream: 'the person was found deleted at the service',
  restore: 'an older copy of the mirror had brought the person back',
};

/** Where a request came from, in words. */
export function originText(origin: string): string {
  return originWords[origin] ?? codeText(origin);
}

const stateWords: Readonly<Record<string, string>> = {
  scoped: 'found, not begun',
  fenced: 'begun',
  executing: 'begun',
  locally_verified: 'erased here',
  awaiting_upstream: 'erased here, waiting for the service',
  attention: 'needs a person',
  held: 'held for approval',
  certified: 'complete',
  sealed: 'ended and sealed',
};

/** The state of a request, in words. */
export function stateText(state: string): string {
  return stateWords[state] ?? codeText(state);
}
