import type { Database } from '../../src/mirror/database.ts';
import { watchDiskChanges } from '../export/fault-points.ts';
import type { Transport } from '../../src/client/transport.ts';

/** Where a process is killed: at which write of which kind, counted from 1. */
export type KillPoint = { kind: 'sql' | 'disk' | 'http'; at: number };

/** Thrown at the kill, and by everything that is tried after it: nothing of the program knows it. */
class Killed extends Error {
  constructor() {
    super('killed');
  }
}

/** Ends one piece of work as a kill would: from one point on, nothing that it tries has any effect. */
export type KillSwitch = {
  /** Runs the work; whether it was killed. Rejects with what the work rejects with, unless it was. */
  run: (work: () => Promise<unknown>) => Promise<boolean>;
  database: (db: Database) => Database;
  transport: (inner: Transport) => Transport;
};

type Step = KillPoint['kind'] | 'read';

const writing = /^\s*(?:\/\*.*?\*\/)?\s*(?:INSERT|UPDATE|DELETE|VACUUM)/i;

/** Prepares a switch that goes off at a point, if there is one. */
export function createKillSwitch(point: KillPoint | undefined): KillSwitch {
  let steps = 0;
  let isDead = false;

  /** Before a write, or after one that has been made. */
  const step = (kind: Step): void => {
    if (isDead) throw new Killed();
    if (kind !== point?.kind) return;
    steps += 1;
    if (steps < point.at) return;
    isDead = true;
    throw new Killed();
  };

  const guarded = (statement: object, isWriting: boolean): object =>
    new Proxy(statement, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]): unknown => {
          step(isWriting && ['run', 'get', 'all'].includes(String(name)) ? 'sql' : 'read');
          const result: unknown = Reflect.apply(value, target, given);
          // `pluck` and its like return the statement itself.
          return result === target ? guarded(target, isWriting) : result;
        };
      },
    });

  return {
    run: async (work) => {
      const unwatch = watchDiskChanges(() => step('disk'));
      try {
        await work();
        return isDead;
      } catch (error) {
        if (isDead) return true;
        throw error;
      } finally {
        unwatch();
      }
    },
    database: (db) =>
      new Proxy(db, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== 'function') return value;
          return (...given: unknown[]): unknown => {
            if (name === 'close') return target.close();
            if (name === 'transaction') return guardedTransaction(target, given[0] as () => unknown, step);
            step(name === 'exec' ? 'sql' : 'read');
            const result: unknown = Reflect.apply(value, target, given);
            return name === 'prepare' ? guarded(result as object, writing.test(String(given[0]))) : result;
          };
        },
      }),
    transport: (inner) => ({
      close: () => inner.close(),
      send: async (request) => {
        step('http');
        const response = await inner.send(request);
        step('http');
        return response;
      },
    }),
  };
}

/** A transaction can be killed before it begins, and after it is committed; between, its statements are. */
function guardedTransaction(db: Database, work: () => unknown, step: (kind: Step) => void): unknown {
  const transaction = db.transaction(work);
  const run = (act: () => unknown) => (): unknown => {
    step('sql');
    const result = act();
    step('sql');
    return result;
  };
  return Object.assign(
    run(() => transaction()),
    { immediate: run(() => transaction.immediate()) },
  );
}
