import { describe, expect, it } from 'vitest';
import type { ToldEntries } from '../../../src/client/playlist-entries.ts';
import { judgeEntry, planPlaylists } from '../../../src/erasure/upstream/playlist-plan.ts';

const told = {
  all: { shown: [{ id: 'other' }], reason: null },
  allWithIt: { shown: [{ id: 'it' }], reason: null },
  part: { shown: [{ id: 'other' }], reason: 'cut' },
  partWithIt: { shown: [{ id: 'it' }], reason: 'cut' },
  refused: { shown: null, reason: 'refused' },
  none: { shown: null, reason: 'no_list' },
  noPlaylist: { shown: null, reason: 'not_found' },
} as const satisfies Record<string, ToldEntries>;

describe('an entry', () => {
  it.each([
    ['removed', 'partWithIt', 'removed'],
    ['missing', 'none', 'gone'],
    ['failed', 'noPlaylist', 'unclear'],
    ['failed', 'allWithIt', 'there'],
    ['failed', 'partWithIt', 'there'],
    ['failed', 'part', 'unclear'],
    ['failed', 'refused', 'unclear'],
    ['failed', 'none', 'unclear'],
    ['refused', 'allWithIt', 'refused'],
    ['refused', 'part', 'refused'],
    ['refused', 'refused', 'refused'],
  ] as const)('whose removal is %s, at a playlist that shows %s, is %s', (answer, list, end) => {
    for (const hasRecording of [true, false])
      expect(judgeEntry(answer, 'it', { told: told[list], hasRecording })).toBe(end);
  });

  it.each([
    ['failed', true, 'gone'],
    ['refused', true, 'gone'],
    ['failed', false, 'unshown'],
    ['refused', false, 'refused'],
  ] as const)('whose removal is %s, and that no whole list shows, with its recording there: %s, is %s', (...row) => {
    const [answer, hasRecording, end] = row;
    expect(judgeEntry(answer, 'it', { told: told.all, hasRecording })).toBe(end);
  });
});

describe('the entries of a subject', () => {
  const facts = { isUntold: false, attempts: 0, attemptsMax: 3 };

  it('are for somebody to look at while one is refused or still there', () => {
    expect(planPlaylists(['removed', 'there', 'refused'], facts)).toEqual({ do: 'call', reason: 'playlist_refused' });
    expect(planPlaylists(['removed', 'unclear', 'there'], facts)).toEqual({ do: 'call', reason: 'outcome_unknown' });
  });

  it('of which no list tells are tried again, and then not called removed', () => {
    const ends = ['removed', 'unclear'] as const;
    expect(planPlaylists(ends, { ...facts, attempts: 1 })).toEqual({ do: 'wait' });
    const settled = { do: 'settle', result: 'not_verifiable', assurance: 'not_verifiable' };
    expect(planPlaylists(ends, { ...facts, attempts: 2 })).toEqual(settled);
  });

  it('that are not shown, as their recordings are not, are tried again, and then gone', () => {
    expect(planPlaylists(['unshown'], { ...facts, attempts: 1 })).toEqual({ do: 'wait' });
    const settled = { do: 'settle', result: 'removed', assurance: 'observed' };
    expect(planPlaylists(['unshown'], { ...facts, attempts: 2 })).toEqual(settled);
  });

  it('are observed only where the mirror was told those of each configured playlist', () => {
    const observed = { do: 'settle', assurance: 'observed' };
    const untold = { ...facts, isUntold: true };
    expect(planPlaylists([], facts)).toEqual({ ...observed, result: 'not_applicable' });
    expect(planPlaylists(['removed', 'gone'], facts)).toEqual({ ...observed, result: 'removed' });
    const unseen = { do: 'settle', assurance: 'not_verifiable' };
    expect(planPlaylists([], untold)).toEqual({ ...unseen, result: 'not_verifiable' });
    expect(planPlaylists(['removed', 'gone'], untold)).toEqual({ ...unseen, result: 'removed' });
  });
});
