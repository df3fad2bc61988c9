import type { ToldEntries } from '../../client/playlist-entries.ts';
import type { AttentionReason, Assurance, TargetResult } from '../../ledger/vocabulary.ts';

/** What the service answered to the removal of an entry. `failed`: an error of its own, which also an entry that is gone gets. */
export type RemovalAnswer = 'removed' | 'missing' | 'refused' | 'failed';

/** What became of an entry. `there`: the list still shows it; `unclear`: no list tells. */
export type EntryEnd = 'removed' | 'gone' | 'refused' | 'there' | 'unclear';

/** Judges an entry by the answer to its removal, and by what the playlist shows afterwards (`told`). */
export function judgeEntry(answer: RemovalAnswer, recordingId: string, told: ToldEntries): EntryEnd {
  if (answer === 'removed') return 'removed';
  if (answer === 'missing') return 'gone';
  const isShown = told.shown?.some(({ id }) => id === recordingId) ?? false;
  if (!isShown && (told.reason === null || told.reason === 'not_found')) return 'gone';
  if (answer === 'refused') return 'refused';
  return isShown ? 'there' : 'unclear';
}

/** What is to be done about a subject's entries in playlists now. */
export type PlaylistStep =
  | { do: 'call'; reason: Extract<AttentionReason, 'playlist_refused' | 'outcome_unknown'> }
  | { do: 'wait' }
  | {
      do: 'settle';
      result: Extract<TargetResult, 'removed' | 'not_applicable' | 'not_verifiable'>;
      assurance: Assurance;
    };

/**
 * Decides by what became of the entries. `isUntold`: a configured playlist has entries that the mirror was not told, so there may be
 * more of them than are known. An entry of which no list tells is tried `attemptsMax` times.
 */
export function planPlaylists(
  ends: readonly EntryEnd[],
  { isUntold, attempts, attemptsMax }: { isUntold: boolean; attempts: number; attemptsMax: number },
): PlaylistStep {
  if (ends.includes('refused')) return { do: 'call', reason: 'playlist_refused' };
  if (ends.includes('there')) return { do: 'call', reason: 'outcome_unknown' };
  const isUnclear = ends.includes('unclear');
  if (isUnclear && attempts + 1 < attemptsMax) return { do: 'wait' };
  if (isUnclear || (isUntold && ends.length === 0))
    return { do: 'settle', result: 'not_verifiable', assurance: 'not_verifiable' };
  const result = ends.length === 0 ? 'not_applicable' : 'removed';
  return { do: 'settle', result, assurance: isUntold ? 'not_verifiable' : 'observed' };
}
