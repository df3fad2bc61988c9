import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verify } from '../../docs/verifier/verify.mjs';
import { endLostRequests } from '../../src/erasure/fence/restore-guard.ts';
import { boxDetailsOf } from '../../src/erasure/request/box.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { anyOperation, type KillPoint } from '../kill/kill-point.ts';
import { createKillSwitch } from '../kill/kill-switch.ts';
import { sweep } from '../kill/sweep.ts';
import { eraseBody, openIntakeWorld, step, type IntakeWorld } from './intake-world.ts';

const ann = eraseBody('ann@canary.example');

/** The requests that are open, those for access last, with what is known of their persons. */
function waitingOf(world: IntakeWorld) {
  const db = world.db();
  return [...listRequests(db, 'open'), ...listRequests(db, 'open', 'access')].map(
    ({ id }) => boxDetailsOf(world.context(), id)?.given[0]?.value,
  );
}

/** Kills a request at a point, and looks at what is left. Returns whether it came to the point. */
async function survives(
  kill: KillPoint,
  { type, isFirst, next }: { type: 'erase' | 'access'; isFirst: boolean; next: 'sent again' | 'ended first' },
): Promise<boolean> {
  const body = { ...ann, type };
  const world = await openIntakeWorld();
  if (!isFirst) await world.post(eraseBody('bob@canary.example'));
  const others = isFirst ? [] : ['bob@canary.example'];
  const key = randomUUID();
  let status = 0;
  let text = '';
  const wasKilled = await createKillSwitch(world.dataDir, kill).run(async () => {
    ({ status, text } = await world.post(body, key));
  });
  if (!wasKilled) return false;
  // Whoever was killed before its answer has answered nothing but that nothing is known.
  expect(status).toBeOneOf([201, 503]);
  await world.restart();
  const promised = status === 201;
  // What can never go on, the next `reconcile` ends.
  if (next === 'ended first') await step(world, endLostRequests);
  if (promised) expect(waitingOf(world)).toEqual([...others, 'ann@canary.example']);
  const again = await world.post(body, key);
  expect(again.status).toBe(201);
  if (promised) expect(again.text).toBe(text);
  expect(new Set(waitingOf(world))).toEqual(new Set(['ann@canary.example', ...others]));
  expect(verify({ folder: join(world.dataDir, 'ledger'), receipt: again.text })).toMatchObject({ ok: true });
  const { histories } = readLedger(world.dataDir);
  expect(histories.of(String(again.body['request']))).toMatchObject({ state: 'received' });
  return true;
}

it.for([
  [anyOperation.sql, true, 'erase'],
  [anyOperation.sql, false, 'erase'],
  [anyOperation.sql, false, 'access'],
  [anyOperation.disk, true, 'erase'],
  [anyOperation.disk, false, 'erase'],
  [anyOperation.disk, false, 'access'],
] as const)(
  'killed at %s (the first request: %s, to %s), a receipt was never sent, or is honoured',
  async ([operation, isFirst, type]) => {
    for (const next of ['sent again', 'ended first'] as const)
      // What failed has no moment after it; half of a write is one of its own.
      for (const moment of ['before', operation === anyOperation.sql ? 'after' : 'within'] as const) {
        const met = await sweep((nth) => survives({ operation, nth, moment }, { type, isFirst, next }));
        expect(met).toBeGreaterThan(5);
      }
  },
);
