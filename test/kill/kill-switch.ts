import type { Transport } from '../../src/client/transport.ts';
import type { KillPoint } from './kill-point.ts';
import { countOperations, type Pass } from './operation.ts';
import { watchFiles } from './watch-files.ts';
import { watchSql } from './watch-sql.ts';

/** Thrown where a process would be killed, and by everything that it tries afterwards. No code of the program knows it. */
export class Killed extends Error {
  constructor() {
    super('killed');
  }
}

/** Ends work in this process as a kill would: from the point on, nothing that the work tries has any effect. */
export type KillSwitch = {
  /** Runs work on the folder. Returns whether it was killed. Rejects with the work's own error if it was not. */
  run: (work: () => Promise<unknown>) => Promise<boolean>;
  transport: (inner: Transport) => Transport;
};

/** Prepares a switch for work on a folder: its files, its databases, and its requests over `transport`. */
export function createKillSwitch(folder: string, point: KillPoint | null): KillSwitch {
  let isDead = false;
  const counted = countOperations(point, () => {
    isDead = true;
    throw new Killed();
  });
  const pass: Pass = (operation) => {
    if (isDead) throw new Killed();
    return counted.pass(operation);
  };
  return {
    run: async (work) => {
      const stopWatching = [watchFiles(folder, pass), watchSql(folder, pass)];
      try {
        await work();
        return isDead;
      } catch (error) {
        if (isDead) return true;
        throw error;
      } finally {
        for (const stop of stopWatching.toReversed()) stop();
      }
    },
    transport: (inner) => ({
      close: () => inner.close(),
      send: async (request) => {
        passHttp(pass, 'send');
        const response = await inner.send(request);
        passHttp(pass, 'be answered');
        return response;
      },
    }),
  };
}

function passHttp(pass: Pass, name: string): void {
  pass({ kind: 'http', name, isChange: true, execute: () => undefined, isCommitted: () => false });
}
