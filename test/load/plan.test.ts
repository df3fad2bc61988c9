import { expect, it } from 'vitest';
import { dialects } from '../../src/load/dialect.ts';
import {
  isLoadedFrom,
  loadedComment,
  planLoad as plan,
  type LoadPlan,
  type WarehouseTable,
} from '../../src/load/plan.ts';
import type { PublishedTable } from '../../src/load/published.ts';

const link = (number: number, digest = `d${number}`, epoch = 1): PublishedTable['newest'] => ({
  snapshotId: `s${number}`,
  digest,
  seq: number * 10,
  epoch,
  rows: 1,
  paths: [`p${number}`],
});

function planLoad(
  table: PublishedTable,
  present: WarehouseTable | undefined,
  ledger: string,
  { types } = dialects.postgres,
): LoadPlan {
  return plan(table, present, ledger, types);
}

function tableOf(links: readonly PublishedTable['newest'][], deletions: string | null = null): PublishedTable {
  const [first = link(1)] = links;
  return {
    dataset: 'persons',
    key: 'person_uuid',
    columns: [{ name: 'person_uuid', type: 'string' }],
    links,
    newest: links.at(-1) ?? first,
    gone: deletions === null ? null : { digest: deletions, paths: [] },
    verdict: 'complete',
  };
}

function loaded(table: PublishedTable, comment = loadedComment(table, 'p')): WarehouseTable {
  return { comment, columns: new Map([['person_uuid', 'text']]) };
}

it('a table that is as published is left; new deltas and new deletions are applied from where it stands', () => {
  const base = tableOf([link(1)]);
  expect(planLoad(base, undefined, 'p')).toEqual({ is: 'full' });
  expect(planLoad(base, loaded(base), 'p')).toEqual({ is: 'unchanged' });
  const chain = tableOf([link(1), link(2), link(3)], 'x');
  expect(planLoad(chain, loaded(base), 'p')).toEqual({ is: 'delta', after: 0 });
  expect(planLoad(chain, loaded(tableOf([link(1), link(2)], 'x')), 'p')).toEqual({ is: 'delta', after: 1 });
  expect(planLoad(chain, loaded(chain), 'p')).toEqual({ is: 'unchanged' });
  expect(planLoad(tableOf(chain.links, 'y'), loaded(chain), 'p')).toEqual({ is: 'delta', after: 2 });
});

it('another full snapshot, files that were written anew, and other columns are loaded whole', () => {
  const base = tableOf([link(1)]);
  expect(planLoad(tableOf([link(2)]), loaded(base), 'p')).toEqual({ is: 'full' });
  expect(planLoad(tableOf([link(1, 'rewritten', 2)]), loaded(base), 'p')).toEqual({ is: 'full' });
  const withType = (type: string): WarehouseTable => ({ ...loaded(base), columns: new Map([['person_uuid', type]]) });
  expect(planLoad(base, { ...loaded(base), columns: new Map() }, 'p')).toEqual({ is: 'full' });
  expect(planLoad(base, withType('uuid'), 'p')).toEqual({ is: 'full' });
  expect(planLoad(base, withType('String'), 'p', dialects.clickhouse)).toEqual({ is: 'unchanged' });
});

it('what is older than the table, by number or by epoch, is refused, also where it is only compared', () => {
  const older = expect.objectContaining({ code: 'storage' }) as Error;
  for (const act of [planLoad, isLoadedFrom]) {
    expect(() => act(tableOf([link(1)]), loaded(tableOf([link(2)])), 'p')).toThrow(older);
    expect(() => act(tableOf([link(2)]), loaded(tableOf([link(1, 'd1', 2)])), 'p')).toThrow(older);
  }
});

it.each([null, '', 'a table of ours', 'analytics-mirror load {', 'analytics-mirror load {"ledger":"p"}'])(
  'a table with the comment %j is not ours',
  (comment) => {
    const base = tableOf([link(1)]);
    for (const ledger of ['p', '', 'undefined'])
      expect(() => planLoad(base, { ...loaded(base), comment }, ledger)).toThrow(
        expect.objectContaining({ code: 'usage' }) as Error,
      );
  },
);
