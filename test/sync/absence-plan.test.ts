import { describe, expect, it } from 'vitest';
import { planAbsence, type AbsenceRules, type AbsentRow } from '../../src/sync/absence-plan.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
const rules: AbsenceRules = { maxShare: 0.1, maxCount: 50, confirmAfterSeconds: 600 };
const absent = (key: string, fields: Partial<AbsentRow> = {}): AbsentRow => ({
  key,
  confirmedAt: null,
  isApproved: false,
  ...fields,
});
const many = (count: number): AbsentRow[] => Array.from({ length: count }, (_value, index) => absent(`row ${index}`));
const keys = (rows: readonly AbsentRow[]): string[] => rows.map(({ key }) => key);

describe('planAbsence', () => {
  it.each([
    [10, 100, false],
    [11, 100, true],
    [50, 10_000, false],
    [51, 10_000, true],
    [1, 3, false],
    [2, 3, true],
    [1, 1, false],
    [0, 0, false],
  ])('of %i absent rows among %i: held %s', (count, rowsTotal, isHeld) => {
    const { ask, hold } = planAbsence('persons', many(count), { rowsTotal, rowsLeft: 0 }, rules, now);
    expect(hold?.rows.length ?? 0).toBe(isHeld ? count : 0);
    expect(ask).toHaveLength(isHeld ? 0 : count);
  });

  it.each([
    [5, 4, 0],
    [6, 4, 0],
    [7, 4, 7],
    [1, 10, 1],
    [0, 40, 0],
  ])('of %i absent rows, after %i others that left lately, holds %i', (count, rowsLeft, held) => {
    const { hold } = planAbsence('persons', many(count), { rowsTotal: 100 - rowsLeft, rowsLeft }, rules, now);
    expect(hold?.rows.length ?? 0).toBe(held);
  });

  it('asks again only after the time between two confirmations', () => {
    const early = absent('early', { confirmedAt: '2026-01-01T00:50:00.001Z' });
    const due = absent('due', { confirmedAt: '2026-01-01T00:50:00.000Z' });
    const { ask, wait } = planAbsence(
      'persons',
      [early, due, absent('new')],
      { rowsTotal: 100, rowsLeft: 0 },
      rules,
      now,
    );
    expect([keys(ask), keys(wait)]).toEqual([['due', 'new'], ['early']]);
  });

  it('lets approved rows go on while others wait', () => {
    const approved = absent('approved', { isApproved: true });
    const { ask, hold } = planAbsence('persons', [approved, ...many(30)], { rowsTotal: 100, rowsLeft: 0 }, rules, now);
    expect(keys(ask)).toEqual(['approved']);
    expect(hold?.rows).toHaveLength(30);
  });

  it('names a plan by its rows, whatever their order, and by nothing else', () => {
    const plan = (dataset: string, rows: readonly AbsentRow[]): string | undefined =>
      planAbsence(dataset, rows, { rowsTotal: 100, rowsLeft: 0 }, rules, now).hold?.plan;
    const rows = many(20);
    expect(plan('persons', rows)).toMatch(/^[0-9a-f]{16}$/);
    expect(plan('persons', rows.toReversed())).toBe(plan('persons', rows));
    expect(plan('persons', rows.slice(1))).not.toBe(plan('persons', rows));
    expect(plan('persons', [...rows, absent('one more')])).not.toBe(plan('persons', rows));
    expect(plan('recordings', rows)).not.toBe(plan('persons', rows));
  });
});
