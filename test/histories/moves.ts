import fc from 'fast-check';
import { anyOperation, type KillPoint } from '../kill/kill-point.ts';
import { parts, type Part } from './machine.ts';
import type { Proxy } from './service.ts';
import type { Kind } from './world.ts';

/** A point before or after the nth writing statement, operation on the disk, or request to the service; null: no kill. */
export type Kill = { at: 'sql' | 'disk' | 'http'; nth: number; moment: 'before' | 'after' } | null;

/** How somebody is named in a request. */
type Named = 'uuid' | 'id' | 'distinct_id' | 'email' | 'lower email';

/** What can happen next. `who` picks a person out of all who have ever been; whoever is gone is left alone. */
export type Move =
  // at the service
  | { do: 'sign up' }
  | {
      do: 'sign up again' | 'record' | 'change' | 'change address' | 'delete' | 'move person' | 'move recording';
      who: number;
    }
  | { do: 'hide person' | 'hide recording'; who: number; isCounted: boolean }
  | { do: 'collect' | 'take out'; who: number }
  | { do: 'split'; who: number; isOld: boolean }
  | { do: 'merge' | 'log in'; who: number; into: number }
  | { do: 'event'; who: number; lateHours: number }
  | { do: 'proxy'; kind: Proxy }
  | { do: 'show all' | 'stand still' | 'keep rows' }
  | { do: 'misplace'; who: number; hours: number }
  | { do: 'retain'; days: number }
  | { do: 'restore rows'; nth: number }
  | { do: 'service clock'; minutes: number }
  // on the machine
  | { do: 'sync'; of?: 'persons' | 'recordings' | 'playlists' | undefined; isHead?: boolean; kill: Kill }
  | { do: 'reconcile' | 'load'; kill: Kill }
  | { do: 'export'; kind: 'full' | 'delta'; isPart: boolean; kill: Kill }
  | { do: 'request'; who: number; by: Named; kill: Kill }
  | { do: 'approve' | 'rotate key' }
  | { do: 'cancel' | 'readmit'; nth: number }
  | { do: 'drill'; kill: Kill }
  | { do: 'machine clock'; hours: number }
  | { do: 'pass'; days: number }
  | { do: 'back up' }
  | { do: 'restore'; part: Part; nth: number }
  | { do: 'lose'; part: Part };

/** The point at which a command is killed. */
export function killPointOf(kill: Kill): KillPoint | undefined {
  return kill === null ? undefined : { operation: anyOperation[kill.at], nth: kill.nth, moment: kill.moment };
}

const who = fc.nat(5);
const nth = fc.nat(5);
const moment = fc.constantFrom('before' as const, 'after' as const);
const killsAt = <A extends 'sql' | 'disk' | 'http'>(at: A, max: number) =>
  fc.record({ at: fc.constant(at), nth: fc.integer({ min: 1, max }), moment });
const kill: fc.Arbitrary<Kill> = fc.option(fc.oneof(killsAt('sql', 120), killsAt('disk', 80), killsAt('http', 12)), {
  freq: 4,
});

const one = <D extends Move['do']>(...what: D[]) => fc.record({ do: fc.constantFrom(...what) });
const toOne = <D extends Move['do']>(...what: D[]) => fc.record({ do: fc.constantFrom(...what), who });
const job = <D extends Move['do']>(...what: D[]) => fc.record({ do: fc.constantFrom(...what), kill });
const nthOf = <D extends Move['do']>(...what: D[]) => fc.record({ do: fc.constantFrom(...what), nth });

const allParts = Object.keys(parts) as Part[];
const part = fc.constantFrom(...allParts);
const requestBy = (...by: Named[]) =>
  fc.record({ do: fc.constant('request' as const), who, by: fc.constantFrom(...by), kill });
const lost = (...some: Part[]) => fc.record({ do: fc.constant('lose' as const), part: fc.constantFrom(...some) });
const moves = {
  signUp: one('sign up'),
  toSomebody: toOne('sign up again', 'record', 'change', 'change address', 'delete'),
  record: toOne('record'),
  collect: toOne('collect'),
  entries: toOne('collect', 'take out'),
  hide: fc.record({ do: fc.constantFrom('hide person', 'hide recording'), who, isCounted: fc.boolean() }),
  away: toOne('move person', 'move recording'),
  split: fc.record({ do: fc.constant('split' as const), who, isOld: fc.boolean() }),
  merge: fc.record({ do: fc.constant('merge' as const), who, into: who }),
  logIn: fc.record({ do: fc.constant('log in' as const), who, into: who }),
  event: fc.record({ do: fc.constant('event' as const), who, lateHours: fc.constantFrom(0, 0, 48) }),
  proxy: fc.record({
    do: fc.constant('proxy' as const),
    kind: fc.constantFrom('page', 'route', 'empty', 'down', 'lost', 'search', 'flaky', 'entries', 'none'),
  }),
  rows: one('show all', 'keep rows', 'stand still'),
  misplace: fc.record({ do: fc.constant('misplace' as const), who, hours: fc.constantFrom(-30, -0.01, 0.01, 30) }),
  retain: fc.record({ do: fc.constant('retain' as const), days: fc.constantFrom(5, 30, 90) }),
  stand: one('stand still'),
  restoreRows: nthOf('restore rows'),
  serviceClock: fc.record({ do: fc.constant('service clock' as const), minutes: fc.constantFrom(0, -2, 3, -60) }),
  sync: job('sync'),
  partSync: fc.record({
    do: fc.constant('sync' as const),
    of: fc.constantFrom('persons', 'recordings', 'playlists', undefined),
    isHead: fc.boolean(),
    kill,
  }),
  load: job('load'),
  reconcile: job('reconcile'),
  export: fc.record({
    do: fc.constant('export' as const),
    kind: fc.constantFrom('full', 'delta', 'delta'),
    isPart: fc.integer({ min: 0, max: 3 }).map((each) => each === 0),
    kill,
  }),
  request: requestBy('uuid', 'id', 'distinct_id', 'email', 'lower email'),
  byAddress: requestBy('email', 'lower email'),
  approve: one('approve'),
  nth: nthOf('cancel', 'readmit'),
  readmit: nthOf('readmit'),
  rotate: one('rotate key'),
  drill: fc.record({ do: fc.constant('drill' as const), kill }),
  machineClock: fc.record({
    do: fc.constant('machine clock' as const),
    hours: fc.constantFrom(0, 0, 2, -2, 1200, 1700),
  }),
  pass: fc.record({ do: fc.constant('pass' as const), days: fc.constantFrom(0.01, 0.1, 1, 8) }),
  backUp: one('back up'),
  restore: fc.record({ do: fc.constant('restore' as const), part, nth }),
  lose: lost(...allParts),
} satisfies Record<string, fc.Arbitrary<Move>>;

const anyMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 5, arbitrary: moves.sync },
  { weight: 1, arbitrary: moves.partSync },
  { weight: 1, arbitrary: moves.load },
  { weight: 5, arbitrary: moves.reconcile },
  { weight: 4, arbitrary: moves.export },
  { weight: 4, arbitrary: moves.request },
  { weight: 3, arbitrary: moves.toSomebody },
  { weight: 3, arbitrary: moves.event },
  {
    weight: 2,
    arbitrary: fc.oneof(moves.split, moves.merge, moves.logIn, moves.hide, moves.away, moves.entries, moves.misplace),
  },
  { weight: 2, arbitrary: fc.oneof(moves.proxy, moves.rows, moves.restoreRows, moves.signUp, moves.retain) },
  { weight: 2, arbitrary: fc.oneof(moves.machineClock, moves.serviceClock, moves.pass) },
  { weight: 2, arbitrary: fc.oneof(moves.backUp, moves.restore, moves.lose) },
  { weight: 2, arbitrary: fc.oneof(moves.approve, moves.nth) },
  { weight: 1, arbitrary: fc.oneof(moves.rotate, moves.backUp, moves.drill) },
);

const days = (many: number) => fc.constant({ do: 'pass' as const, days: many });
const back = (...some: Part[]) =>
  fc.record({ do: fc.constant('restore' as const), part: fc.constantFrom(...some), nth });
const seen = fc.tuple(moves.record, moves.collect, moves.sync, moves.export);
const erased = fc.tuple(moves.request, moves.reconcile, days(8), moves.reconcile);
const missed = fc.tuple(moves.sync, moves.reconcile, days(0.1), moves.sync, moves.reconcile);

/** Moves that mean little one by one. Each chapter is what operators, people and services really do in a row. */
const chapters: fc.Arbitrary<Move[]> = fc.oneof(
  { weight: 8, arbitrary: fc.array(anyMove, { minLength: 1, maxLength: 6 }) },
  { weight: 2, arbitrary: inTurn(seen, erased) },
  // A nightly copy, consent given anew, and the copy put back.
  {
    weight: 1,
    arbitrary: inTurn(
      moves.sync,
      moves.request,
      maybe(moves.request),
      moves.reconcile,
      moves.backUp,
      days(8),
      moves.reconcile,
      moves.readmit,
      maybe(back('mirror')),
      moves.reconcile,
      moves.event,
      moves.event,
      moves.sync,
      moves.reconcile,
    ),
  },
  // A clock that is put right.
  {
    weight: 1,
    arbitrary: inTurn(
      moves.machineClock,
      moves.sync,
      moves.export,
      moves.machineClock,
      fc.oneof(moves.merge, moves.split, moves.toSomebody),
      missed,
      moves.export,
    ),
  },
  { weight: 1, arbitrary: inTurn(fc.oneof(moves.machineClock, moves.serviceClock), erased, moves.event, moves.sync) },
  // Rows that are missed for a while, and what stands before the service meanwhile.
  {
    weight: 2,
    arbitrary: inTurn(
      moves.record,
      seen,
      fc.oneof(moves.hide, moves.away, moves.toSomebody),
      maybe(moves.proxy),
      missed,
      fc.oneof(moves.rows, moves.event),
      moves.sync,
    ),
  },
  // Lists that know nothing of what has happened since.
  {
    weight: 1,
    arbitrary: inTurn(
      moves.sync,
      maybe(moves.misplace),
      moves.stand,
      fc.oneof(moves.merge, moves.split, moves.signUp, moves.event, toOne('delete'), moves.request),
      missed,
      moves.rows,
      moves.sync,
    ),
  },
  // Recordings that are listed in part, and then expire; or whose people ask to be erased.
  {
    weight: 2,
    arbitrary: inTurn(
      moves.retain,
      moves.record,
      maybe(moves.retain),
      moves.record,
      maybe(moves.collect),
      moves.sync,
      maybe(fc.oneof(moves.request, toOne('delete'), moves.merge)),
      moves.reconcile,
      days(4),
      moves.sync,
      maybe(moves.request),
      days(25.5),
      missed,
      days(0.7),
      missed,
      moves.export,
    ),
  },
  // Who is deleted by others, or by request, and comes back; or whose ids come to somebody else.
  { weight: 1, arbitrary: inTurn(moves.sync, toOne('delete'), missed, moves.event, moves.event, moves.sync) },
  {
    weight: 1,
    arbitrary: inTurn(
      moves.split,
      moves.sync,
      moves.request,
      maybe(moves.request),
      erased,
      maybe(moves.readmit),
      moves.event,
      fc.oneof(moves.event, moves.logIn),
      maybe(moves.merge),
      moves.sync,
      moves.reconcile,
    ),
  },
  { weight: 1, arbitrary: inTurn(moves.split, moves.sync, moves.request, moves.reconcile, moves.logIn, moves.logIn) },
  // Who is not alone: merged, split, or with an address of others.
  {
    weight: 2,
    arbitrary: inTurn(
      seen,
      fc.oneof(moves.merge, moves.split, toOne('sign up again')),
      maybe(fc.oneof(moves.sync, missed)),
      moves.request,
      moves.reconcile,
      moves.export,
    ),
  },
  { weight: 1, arbitrary: inTurn(moves.sync, toOne('sign up again'), moves.byAddress, moves.reconcile) },
  // Keys and files that are older, or lost.
  {
    weight: 1,
    arbitrary: inTurn(
      seen,
      moves.request,
      moves.reconcile,
      moves.backUp,
      fc.oneof(moves.rotate, moves.drill),
      fc.oneof(moves.restore, moves.lose),
      moves.request,
      moves.reconcile,
    ),
  },
  { weight: 1, arbitrary: inTurn(seen, erased, lost('ledger', 'mirror and ledger'), moves.sync) },
  // Held until it is too old.
  {
    weight: 1,
    arbitrary: inTurn(
      moves.split,
      moves.sync,
      moves.request,
      moves.machineClock,
      moves.reconcile,
      days(70),
      moves.reconcile,
    ),
  },
  // A service that is put back, and gives ids again.
  {
    weight: 1,
    arbitrary: inTurn(one('keep rows'), moves.signUp, seen, erased, moves.restoreRows, moves.signUp, moves.sync),
  },
);

/** It happens, or it does not: `freq` counts both, and with 1 it never would. */
function maybe<M>(some: fc.Arbitrary<M>): fc.Arbitrary<M | undefined> {
  return fc.option(some, { nil: undefined, freq: 2 });
}

/** What happens one after the other, as one list. In half of the lists, all requests are about one person. */
function inTurn(...all: fc.Arbitrary<Move | Move[] | (Move | Move[])[] | undefined>[]): fc.Arbitrary<Move[]> {
  return fc.tuple(maybe(who), ...all).map(([one, ...some]) => {
    const list = some.flat(2).filter((move) => move !== undefined);
    return list.map((move) =>
      move.do === 'request' && one !== undefined ? Object.assign({}, move, { who: one }) : move,
    );
  });
}

/** Histories of a few chapters: every move may stand anywhere, and those that belong together more often stand together. */
export const histories: fc.Arbitrary<Move[]> = fc
  .array(chapters, { minLength: 1, maxLength: 3, size: 'max' })
  .map((all) => all.flat());

/** One in twelve has a crowd: such a history takes longer. */
export const kinds: fc.Arbitrary<Kind> = fc.record({
  isLive: fc.boolean(),
  mask: fc.constantFrom('none', 'none', 'left', 'hash'),
  crowd: fc.oneof({ weight: 11, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1050) }),
});

/** A move in a few words. */
export function moveText({ do: what, ...more }: Move): string {
  const details = Object.entries(more).map(([name, value]) =>
    name === 'kill'
      ? value === null
        ? ''
        : ` killed ${value.moment} ${value.at} ${value.nth}`
      : ` ${name} ${String(value)}`,
  );
  return `${what}${details.join('')}`;
}
