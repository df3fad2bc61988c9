import type { Move } from './moves.ts';

const sync: Move = { do: 'sync', kill: null };
const reconcile: Move = { do: 'reconcile', kill: null };
const exported: Move = { do: 'export', kind: 'full', isPart: true, kill: null };
const hours: Move = { do: 'pass', days: 0.1 };
const request = (who: number): Move => ({ do: 'request', who, by: 'uuid', kill: null });
const merge: Move = { do: 'merge', who: 0, into: 1 };

/** Histories of a service like live ones that once broke a promise, by what was wrong. */
export const knownLive: Readonly<Record<string, Move[]>> = {
  'somebody who had an integer id before a restore was erased with the person who has it now': [
    { do: 'keep rows' },
    { do: 'sign up' },
    sync,
    { do: 'restore rows', nth: 0 },
    { do: 'sign up' },
    { do: 'request', who: 3, by: 'id', kill: null },
    reconcile,
    { do: 'pass', days: 8 },
    { do: 'event', who: 1, lateHours: 0 },
  ],
};

/** Histories of a service as documented that once broke a promise, by what was wrong. */
export const known: Readonly<Record<string, Move[]>> = {
  'a request that stands keeps a distinct id out of a person who was let in again': [
    { do: 'split', who: 4, isOld: false },
    sync,
    { do: 'request', who: 5, by: 'email', kill: null },
    reconcile,
    { do: 'pass', days: 8 },
    reconcile,
    { do: 'log in', who: 2, into: 0 },
    request(3),
    reconcile,
    { do: 'readmit', nth: 0 },
    { do: 'event', who: 2, lateHours: 0 },
  ],
  'a person whom the service had again was erased as deleted, once the deletion had waited for others': [
    sync,
    { do: 'move person', who: 1 },
    sync,
    { do: 'record', who: 1 },
    sync,
    { do: 'export', kind: 'delta', isPart: false, kill: { at: 'disk', nth: 8, moment: 'before' } },
    { do: 'request', who: 0, by: 'id', kill: { at: 'disk', nth: 5, moment: 'before' } },
    reconcile,
    { do: 'pass', days: 8 },
    { do: 'show all' },
    reconcile,
  ],
  'a person who came after an erasure and is kept out stood in a recording, which shows one distinct id only': [
    { do: 'record', who: 4 },
    { do: 'sync', kill: { at: 'disk', nth: 74, moment: 'after' } },
    { do: 'sign up again', who: 5 },
    { do: 'request', who: 0, by: 'distinct_id', kill: { at: 'http', nth: 2, moment: 'after' } },
    { do: 'reconcile', kill: { at: 'http', nth: 2, moment: 'after' } },
    { do: 'split', who: 0, isOld: true },
    { do: 'request', who: 1, by: 'uuid', kill: { at: 'disk', nth: 38, moment: 'before' } },
    reconcile,
    { do: 'event', who: 3, lateHours: 0 },
    { do: 'merge', who: 4, into: 3 },
  ],
  'an erased person whom a restored service has again was taken for a new one, since its clock was set back': [
    { do: 'service clock', minutes: -60 },
    { do: 'keep rows' },
    sync,
    { do: 'request', who: 4, by: 'lower email', kill: { at: 'http', nth: 7, moment: 'after' } },
    { do: 'reconcile', kill: { at: 'http', nth: 6, moment: 'before' } },
    { do: 'pass', days: 8 },
    { do: 'reconcile', kill: { at: 'disk', nth: 15, moment: 'before' } },
    { do: 'restore rows', nth: 0 },
  ],
  'a deletion left the feed before anybody could read of it': [
    sync,
    exported,
    { do: 'request', who: 2, by: 'distinct_id', kill: null },
    { do: 'reconcile', kill: { at: 'disk', nth: 49, moment: 'after' } },
    { do: 'pass', days: 8 },
    { do: 'export', kind: 'full', isPart: false, kill: { at: 'disk', nth: 30, moment: 'before' } },
    { do: 'pass', days: 8 },
    { do: 'pass', days: 8 },
  ],
  'somebody who has the integer id of a person of before a restore was taken for that person': [
    { do: 'keep rows' },
    { do: 'sign up' },
    { do: 'record', who: 3 },
    sync,
    { do: 'restore rows', nth: 0 },
    { do: 'sign up' },
    sync,
    hours,
    sync,
    request(3),
    reconcile,
    { do: 'pass', days: 8 },
    { do: 'event', who: 1, lateHours: 0 },
  ],
  'a request that a killed run had given up was told by no code': [
    { do: 'request', who: 2, by: 'lower email', kill: { at: 'disk', nth: 16, moment: 'after' } },
    { do: 'request', who: 4, by: 'uuid', kill: { at: 'http', nth: 7, moment: 'before' } },
    { do: 'reconcile', kill: { at: 'disk', nth: 14, moment: 'after' } },
    { do: 'rotate key' },
  ],
  'whoever has signed up with an address since it was asked for was not asked for by asking again': [
    { do: 'request', who: 0, by: 'email', kill: null },
    { do: 'sign up again', who: 0 },
    { do: 'request', who: 0, by: 'email', kill: null },
    reconcile,
  ],
  'somebody was let in again, and erased by an open request for the person whom they were merged into': [
    sync,
    { do: 'request', who: 0, by: 'distinct_id', kill: null },
    reconcile,
    { do: 'pass', days: 8 },
    reconcile,
    { do: 'event', who: 1, lateHours: 0 },
    { do: 'merge', who: 2, into: 1 },
    { do: 'request', who: 1, by: 'email', kill: null },
    { do: 'readmit', nth: 0 },
  ],
  'whoever a request was held for, and was no more, hid a merge from it': [
    { do: 'sync', kill: { at: 'http', nth: 11, moment: 'before' } },
    { do: 'request', who: 4, by: 'lower email', kill: null },
    reconcile,
    { do: 'split', who: 5, isOld: true },
    { do: 'request', who: 2, by: 'distinct_id', kill: { at: 'http', nth: 2, moment: 'before' } },
    { do: 'merge', who: 0, into: 2 },
    { do: 'request', who: 4, by: 'lower email', kill: { at: 'http', nth: 10, moment: 'after' } },
    { do: 'reconcile', kill: { at: 'http', nth: 1, moment: 'before' } },
  ],
  'a run was killed when it gave a request up, and nobody was told': [
    { do: 'request', who: 3, by: 'distinct_id', kill: { at: 'http', nth: 4, moment: 'before' } },
    { do: 'lose', part: 'mirror' },
    { do: 'reconcile', kill: { at: 'disk', nth: 16, moment: 'before' } },
  ],
  'a request was received into a ledger that could not be signed': [
    request(0),
    { do: 'lose', part: 'public keys' },
    request(0),
  ],
  'a clock that was put back hid that a row was listed again': [
    { do: 'machine clock', hours: 2 },
    sync,
    { do: 'delete', who: 3 },
    sync,
    reconcile,
    hours,
    sync,
    reconcile,
    { do: 'event', who: 0, lateHours: 0 },
  ],
  'a deletion that only the mirror knew of was recorded without an intent': [
    { do: 'request', who: 0, by: 'distinct_id', kill: null },
    { do: 'reconcile', kill: { at: 'disk', nth: 55, moment: 'before' } },
    { do: 'back up' },
    reconcile,
    { do: 'restore', part: 'ledger', nth: 0 },
    reconcile,
  ],
  'a published row of somebody who was merged into the subject stayed': [
    sync,
    merge,
    sync,
    exported,
    hours,
    reconcile,
    hours,
    reconcile,
    request(0),
    reconcile,
  ],
  'a merge into the subject was recognised after the fence had risen': [
    sync,
    { do: 'request', who: 0, by: 'email', kill: null },
    { do: 'merge', who: 1, into: 0 },
    reconcile,
    sync,
    { do: 'export', kind: 'full', isPart: false, kill: null },
    { do: 'request', who: 1, by: 'email', kill: null },
  ],
  'who came back with a restored service was judged by the clock of this machine': [
    { do: 'machine clock', hours: -2 },
    { do: 'keep rows' },
    sync,
    request(0),
    reconcile,
    { do: 'pass', days: 8 },
    reconcile,
    { do: 'restore rows', nth: 0 },
  ],
  'a certificate that a kill had left unrecorded stayed when the request was opened again': [
    { do: 'keep rows' },
    sync,
    request(0),
    reconcile,
    { do: 'pass', days: 8 },
    { do: 'reconcile', kill: { at: 'disk', nth: 28, moment: 'before' } },
    { do: 'restore rows', nth: 0 },
  ],
  'what a merge had brought to the subject since the last pass stayed': [sync, merge, request(0), reconcile],
  'a newcomer with the integer id of the subject was taken out of the published files': [
    { do: 'keep rows' },
    { do: 'sign up' },
    sync,
    { do: 'request', who: 3, by: 'lower email', kill: { at: 'http', nth: 1, moment: 'before' } },
    { do: 'reconcile', kill: { at: 'disk', nth: 76, moment: 'before' } },
    { do: 'restore rows', nth: 0 },
    { do: 'sign up' },
    sync,
    { do: 'export', kind: 'delta', isPart: false, kill: null },
  ],
  'who had lost the integer id to somebody else stayed for ever': [
    { do: 'keep rows' },
    { do: 'sign up' },
    sync,
    { do: 'restore rows', nth: 0 },
    { do: 'sign up' },
    sync,
  ],
};

const deleted: Move = { do: 'delete', who: 0 };
const again: Move = { do: 'sign up again', who: 0 };
const shown: Move = { do: 'show all' };
const event = (who: number): Move => ({ do: 'event', who, lateHours: 0 });
const record = (who: number): Move => ({ do: 'record', who });
const split = (who: number): Move => ({ do: 'split', who, isOld: true });
const clock = (ahead: number): Move => ({ do: 'machine clock', hours: ahead });
const drill: Move = { do: 'drill', kill: { at: 'disk', nth: 60, moment: 'before' } };
const delta: Move = { do: 'export', kind: 'delta', isPart: false, kill: null };
const byId: Move = { do: 'request', who: 0, by: 'distinct_id', kill: null };
const byAddress: Move = { do: 'request', who: 0, by: 'lower email', kill: null };
const missed: Move[] = [sync, reconcile, hours, sync, reconcile];
const gone: Move[] = [reconcile, { do: 'pass', days: 8 }, reconcile];

/** Histories that break a promise where one rule is switched off, by that rule. */
export const ruled: Readonly<Record<string, Move[]>> = {
  'a part that was split off before the request keeps it open': [sync, split(0), request(0), reconcile],
  'a drill that was killed is cleared away': [sync, drill, request(0), reconcile],
  'deltas are in the order of their numbers': [
    sync,
    delta,
    clock(6),
    { do: 'change', who: 0 },
    sync,
    delta,
    clock(0),
    merge,
    ...missed,
    delta,
  ],
  'a recording that is there again comes back': [
    record(0),
    record(1),
    record(2),
    sync,
    { do: 'move recording', who: 1 },
    ...missed,
    hours,
    sync,
    reconcile,
    shown,
    sync,
  ],
  'an address is asked for in each spelling': [sync, again, byAddress, reconcile],
  'who is let in again is let in by all requests': [
    sync,
    request(0),
    byId,
    ...gone,
    { do: 'readmit', nth: 0 },
    event(0),
    sync,
    reconcile,
  ],
  'a fenced id is no name': [split(1), sync, request(0), reconcile, event(1), { do: 'merge', who: 3, into: 2 }, sync],
  'who was deleted by others is known by no distinct id': [sync, deleted, ...missed, event(1), sync],
  'deletions tell of those who were merged into the erased': [
    sync,
    delta,
    merge,
    sync,
    reconcile,
    delta,
    request(0),
    reconcile,
    delta,
  ],
};
