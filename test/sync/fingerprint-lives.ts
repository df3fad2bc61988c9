import type { Change } from './fingerprint-list.ts';
import type { Step } from './fingerprint-world.ts';

type PassStep = Extract<Step, { do: 'pass' }>;

/** A full pass in which nothing happens, but for what is named. */
export function pass(other: Partial<PassStep> = {}): Step {
  const step = { mode: 'full', resume: true, changes: [], killedAfter: null, form: 'plain' } as const;
  return { do: 'pass', ...step, ignoresOffset: false, jsonDepthMax: 200, pageSize: 12, ...other };
}

const change = (each: Change): Step => ({ do: 'change', change: each });
const second = pass();

/** What may happen between two passes over a list of twenty rows that has been read twice, and the passes after it. */
export const lives: readonly [name: string, steps: readonly Step[]][] = [
  ['a change of the same length', [change({ do: 'note', at: 5 }), second]],
  ['a change of the length', [change({ do: 'longer', at: 5 }), second]],
  ['a version that comes back', [change({ do: 'note', at: 5 }), second, change({ do: 'back', at: 5 }), second]],
  ['new rows above', [change({ do: 'insert', count: 3, ids: ['other'] }), second]],
  ['rows that went', [change({ do: 'delete', at: 5 }), change({ do: 'delete', at: 5 }), second]],
  ['a key that is given again', [{ do: 'remove', at: 19 }, change({ do: 'insert', count: 1, ids: [] }), second]],
  ['a row that another answer changed', [{ do: 'shown alone', at: 3, note: '2' }, second]],
  [
    'a row that could not be read, and can again',
    [
      change({ do: 'fault', at: 5, fault: 'time' }),
      second,
      change({ do: 'back', at: 5 }),
      pass({ mode: 'head' }),
      second,
    ],
  ],
  ['a number that a double does not hold', [change({ do: 'big', at: 5 }), second, second]],
  ['a person robbed by the next one', [change({ do: 'ids', at: 6, ids: ['id 6'] }), second, second, second]],
  ['a person robbed by the one before', [change({ do: 'ids', at: 12, ids: ['id 6'] }), second, second, second]],
  ['an id that is fenced', [{ do: 'fence', at: 0, id: 'id 6', what: 'id' }, second, second]],
  ['a person that is fenced', [{ do: 'fence', at: 4, id: '', what: 'row' }, second, second]],
  ['another depth', [change({ do: 'fault', at: 5, fault: 'deep' }), second, pass({ jsonDepthMax: 6 }), second]],
  ['a change between two answers', [pass({ changes: [{ before: 2, change: { do: 'delete', at: 1 } }] }), second]],
  ['a row that is shown twice', [change({ do: 'note', at: 3 }), change({ do: 'repeat', at: 3 }), second, second]],
  ['a list that repeats its rows and moves them', [change({ do: 'reverse' }), second, second]],
  ['an offset that is ignored', [pass({ ignoresOffset: true }), second]],
  ['a pass that is killed and goes on', [pass({ killedAfter: 2 }), second]],
  ['a page in another form', [pass({ form: 'spaced' }), pass({ form: 'twice' }), pass({ form: 'odd row' }), second]],
];
