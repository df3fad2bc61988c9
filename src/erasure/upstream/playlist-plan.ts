import type { ToldEntries } from '../../client/playlist-entries.ts';
import type { AttentionReason, Assurance, TargetResult } from '../../ledger/vocabulary.ts';

/**
 * What the service answered to the removal of an entry. `failed`: an error of its own, which also an entry that is gone gets; or that it
 * is gone, while the list shows it.
 */
export type RemovalAnswer = 'removed' | 'missing' | 'refused' | 'failed';

/** What became of an entry. `there`: the list still shows it; `unshown`: it does not, nor its recording; `unclear`: no list tells. */
export type EntryEnd = 'removed' | 'gone' | 'refused' | 'there' | 'unshown' | 'unclear';

/** Whether a playlist does not show an entry, and shows all that it has. Then an entry is gone, or its recording is. */
export function isUnshown(recordingId: string, { shown, reason }: ToldEntries): boolean {
  return reason === null && !shown.some(({ id }) => id === recordingId);
}

/**
 * Judges an entry by the answer to its removal, by what the playlist shows afterwards (`told`), and by whether the recording
 * is there. Without its recording an entry is not shown: that says nothing of one whose removal was refused.
 */
export function judgeEntry(
  answer: RemovalAnswer,
  recordingId: string,
  { told, hasRecording }: { told: ToldEntries; hasRecording: boolean },
): EntryEnd {
  if (answer === 'removed') return 'removed';
  if (answer === 'missing') return 'gone';
  const unshown = isUnshown(recordingId, told);
  if (unshown && hasRecording) return 'gone';
  if (answer === 'refused') return 'refused';
  if (unshown) return 'unshown';
  return told.shown?.some(({ id }) => id === recordingId) === true ? 'there' : 'unclear';
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
 * more of them than are known. An entry of which no list tells, or that is not shown, is tried `attemptsMax` times: an error that
 * passes does not make it gone.
 */
export function planPlaylists(
  ends: readonly EntryEnd[],
  { isUntold, attempts, attemptsMax }: { isUntold: boolean; attempts: number; attemptsMax: number },
): PlaylistStep {
  if (ends.includes('refused')) return { do: 'call', reason: 'playlist_refused' };
  if (ends.includes('there')) return { do: 'call', reason: 'outcome_unknown' };
  const isUnclear = ends.includes('unclear');
  if ((isUnclear || ends.includes('unshown')) && attempts + 1 < attemptsMax) return { do: 'wait' };
  if (isUnclear || (isUntold && ends.length === 0))
    return { do: 'settle', result: 'not_verifiable', assurance: 'not_verifiable' };
  const result = ends.length === 0 ? 'not_applicable' : 'removed';
  return { do: 'settle', result, assurance: isUntold ? 'not_verifiable' : 'observed' };
}
