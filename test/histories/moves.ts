import fc from 'fast-check';
import { anyOperation, type KillPoint } from '../kill/kill-point.ts';
import { parts, type Part } from './machine.ts';
import type { Proxy } from './service.ts';

/** A point before or after the nth writing statement, operation on the disk, or request to the service; null: no kill. */
export type Kill = { at: 'sql' | 'disk' | 'http'; nth: number; moment: 'before' | 'after' } | null;

/** How somebody is named in a request. */
type Named = 'uuid' | 'id' | 'distinct_id' | 'email';

/** What can happen next. `who` picks a person out of all who have ever been; whoever is gone is left alone. */
export type Move =
  // at the service
  | { do: 'sign up' }
  | { do: 'sign up again' | 'record' | 'change' | 'delete' | 'hide person' | 'hide recording'; who: number }
  | { do: 'split'; who: number; isOld: boolean }
  | { do: 'merge'; who: number; into: number }
  | { do: 'event'; who: number; lateHours: number }
  | { do: 'proxy'; kind: Proxy }
  | { do: 'show all' | 'keep rows' }
  | { do: 'restore rows'; nth: number }
  | { do: 'service clock'; minutes: number }
  // on the machine
  | { do: 'sync' | 'reconcile'; kill: Kill }
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

const part = fc.constantFrom(...(Object.keys(parts) as Part[]));
const moves = {
  signUp: one('sign up'),
  toSomebody: toOne('sign up again', 'record', 'change', 'delete'),
  hide: toOne('hide person', 'hide recording'),
  split: fc.record({ do: fc.constant('split' as const), who, isOld: fc.boolean() }),
  merge: fc.record({ do: fc.constant('merge' as const), who, into: who }),
  event: fc.record({ do: fc.constant('event' as const), who, lateHours: fc.constantFrom(0, 0, 48) }),
  proxy: fc.record({
    do: fc.constant('proxy' as const),
    kind: fc.constantFrom('page', 'route', 'empty', 'down', 'lost', 'none'),
  }),
  rows: one('show all', 'keep rows'),
  restoreRows: nthOf('restore rows'),
  serviceClock: fc.record({ do: fc.constant('service clock' as const), minutes: fc.constantFrom(0, -2, 3, -60) }),
  sync: job('sync'),
  reconcile: job('reconcile'),
  export: fc.record({
    do: fc.constant('export' as const),
    kind: fc.constantFrom('full', 'delta', 'delta'),
    isPart: fc.integer({ min: 0, max: 3 }).map((each) => each === 0),
    kill,
  }),
  request: fc.record({
    do: fc.constant('request' as const),
    who,
    by: fc.constantFrom('uuid', 'id', 'distinct_id', 'email'),
    kill,
  }),
  approve: one('approve'),
  nth: nthOf('cancel', 'readmit'),
  rotate: one('rotate key'),
  drill: fc.record({ do: fc.constant('drill' as const), kill }),
  machineClock: fc.record({
    do: fc.constant('machine clock' as const),
    hours: fc.constantFrom(0, 0, 2, -2, 1200, 1700),
  }),
  pass: fc.record({ do: fc.constant('pass' as const), days: fc.constantFrom(0.01, 0.1, 1, 8) }),
  backUp: one('back up'),
  restore: fc.record({ do: fc.constant('restore' as const), part, nth }),
  lose: fc.record({ do: fc.constant('lose' as const), part }),
} satisfies Record<string, fc.Arbitrary<Move>>;

const anyMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 6, arbitrary: moves.sync },
  { weight: 5, arbitrary: moves.reconcile },
  { weight: 4, arbitrary: moves.export },
  { weight: 4, arbitrary: moves.request },
  { weight: 3, arbitrary: moves.toSomebody },
  { weight: 3, arbitrary: moves.event },
  { weight: 2, arbitrary: fc.oneof(moves.split, moves.merge, moves.hide) },
  { weight: 2, arbitrary: fc.oneof(moves.proxy, moves.rows, moves.restoreRows, moves.signUp) },
  { weight: 2, arbitrary: fc.oneof(moves.machineClock, moves.serviceClock, moves.pass) },
  { weight: 2, arbitrary: fc.oneof(moves.backUp, moves.restore, moves.lose) },
  { weight: 2, arbitrary: fc.oneof(moves.approve, moves.nth) },
  { weight: 1, arbitrary: fc.oneof(moves.rotate, moves.backUp, moves.drill) },
);

/** Moves that mean little one by one. Each chapter is what operators and people really do in a row. */
const chapters: fc.Arbitrary<Move[]> = fc.oneof(
  { weight: 8, arbitrary: fc.array(anyMove, { minLength: 1, maxLength: 6 }) },
  {
    weight: 2,
    arbitrary: fc.tuple(moves.sync, moves.export, moves.request, moves.reconcile, moves.pass, moves.reconcile),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(moves.machineClock, moves.export, moves.machineClock, moves.merge, moves.sync, moves.export),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      moves.request,
      moves.reconcile,
      moves.backUp,
      moves.pass,
      moves.reconcile,
      moves.nth,
      moves.restore,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(moves.toSomebody, moves.sync, moves.pass, moves.reconcile, moves.event, moves.sync),
  },
  { weight: 1, arbitrary: fc.tuple(moves.hide, moves.proxy, moves.sync, moves.pass, moves.reconcile, moves.rows) },
);

/** Histories of a few chapters: every move may stand anywhere, and those that belong together more often stand together. */
export const histories: fc.Arbitrary<Move[]> = fc
  .array(chapters, { minLength: 1, maxLength: 4, size: 'max' })
  .map((all) => all.flat());

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
