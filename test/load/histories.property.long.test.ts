import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { exports, number, showPersons } from '../export/delta-histories.ts';
import { exportAll, openWorld, perform, type Step } from '../export/exported-world.ts';
import { differences, load } from './load-suite.ts';
import { duckDbWarehouse } from './warehouses.ts';

const step: fc.Arbitrary<Step | { do: 'load' }> = fc.oneof(
  { weight: 3, arbitrary: showPersons },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('remove' as const), dataset: fc.constant('persons' as const), number }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('set clock' as const), hours: fc.constantFrom(-3, 3) }) },
  { weight: 3, arbitrary: exports },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('load' as const) }) },
);

test('after any history of changes and exports, a load leaves what the mirror had at the newest export', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const [world, warehouse] = [openWorld(), duckDbWarehouse()];
      const mirrored = (): unknown[] => world.db.prepare('SELECT uuid, name FROM persons ORDER BY 1').raw().all();
      perform(world, { do: 'show persons', persons: [{ number: 9, name: 'z', distinctIds: ['d9'] }] });
      await exportAll(world, 'full');
      let exported = mirrored();
      const loadAndCompare = async (): Promise<void> => {
        await load(world.dataDir, warehouse);
        expect(await warehouse.read('SELECT person_uuid, name FROM $persons ORDER BY 1')).toEqual(exported);
        expect(await differences(world.dataDir, warehouse)).toEqual([]);
      };
      for (const happens of steps) {
        if (happens.do === 'load') await loadAndCompare();
        else if (happens.do === 'export') {
          await exportAll(world, happens.kind);
          exported = mirrored();
        } else perform(world, happens);
      }
      await loadAndCompare();
    }),
    { numRuns: 6 },
  );
});
