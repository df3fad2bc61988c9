import { it } from 'vitest';
import { appendFileSync } from 'node:fs';
import { openSyncWorld, missingAfter } from './sync-world.ts';
const cases = [ [20000, 12000, 'by-uuid', 500, 500, 0, [1]],
] as const;
it('x', async () => {
  for (const [persons, oldestTied, tieOrder, personsLimitMax, pageSize, churn, seeds] of cases) for (const seed of seeds) {
    const w = await openSyncWorld({ persons, seed, profile: 'live', churn, live: { oldestTied, personsLimitMax, tieOrder } }, [{ path: 'persons.pageSize', value: pageSize }]);
    const since = w.sandbox.version(); const p = await w.sync();
    appendFileSync('/tmp/zz.out', [persons, oldestTied, tieOrder, personsLimitMax, pageSize, churn, seed, p.verdict, p.reason, 'win', p.windows, 'rounds', p.rounds, 'moment', p.momentRows, 'missing', missingAfter(w, since)].join(' ') + '\n');
    await w.close();
  }
}, 500000);
