import { describe, expect, it } from 'vitest';
import { matchesProperties, PropertyFilter } from '../../src/sandbox/store/property-filter.ts';

const properties =
  '{"plan":"pro","visits":42,"beta":true,"none":null,"since":"2024-05-01T00:00:00Z","big":9007199254740993,"nested":{"a":1}}';

const matches = (filter: unknown, text = properties): boolean =>
  matchesProperties(text, [PropertyFilter.parse(filter)]);

describe('matchesProperties', () => {
  it.each([
    [{ key: 'plan', value: 'pro' }, true],
    [{ key: 'plan', value: 'Pro' }, false],
    [{ key: 'plan', value: ['free', 'pro'] }, true],
    [{ key: 'plan', value: [] }, false],
    [{ key: 'visits', value: 42 }, true],
    [{ key: 'visits', value: '42' }, true],
    [{ key: 'beta', value: true }, true],
    [{ key: 'big', value: '9007199254740993' }, true],
    [{ key: 'big', value: '9007199254740992' }, false],
    [{ key: 'missing', value: 'x' }, false],
    [{ key: 'plan', operator: 'is_not', value: 'free' }, true],
    [{ key: 'plan', operator: 'is_not', value: ['free', 'pro'] }, false],
    [{ key: 'missing', operator: 'is_not', value: 'x' }, true],
    [{ key: 'plan', operator: 'icontains', value: 'PR' }, true],
    [{ key: 'plan', operator: 'icontains', value: 'x' }, false],
    [{ key: 'nested', operator: 'icontains', value: '"a":1' }, true],
    [{ key: 'visits', operator: 'gt', value: 9 }, true],
    [{ key: 'visits', operator: 'gt', value: 42 }, false],
    [{ key: 'visits', operator: 'lt', value: '100' }, true],
    [{ key: 'visits', operator: 'lt', value: 42 }, false],
    [{ key: 'since', operator: 'gt', value: '2024-04-30T23:59:59Z' }, true],
    [{ key: 'since', operator: 'lt', value: '2024-04-30T23:59:59Z' }, false],
    [{ key: 'missing', operator: 'gt', value: 0 }, false],
    [{ key: 'missing', operator: 'lt', value: 0 }, false],
    [{ key: 'none', operator: 'is_set' }, true],
    [{ key: 'missing', operator: 'is_set' }, false],
    [{ key: 'constructor', operator: 'is_set' }, false],
    [{ key: 'missing', operator: 'is_not_set' }, true],
    [{ key: 'plan', operator: 'is_not_set' }, false],
  ])('%j is %s', (filter, expected) => {
    expect(matches(filter)).toBe(expected);
  });

  it.each(['null', '[]', '"plan"', '42'])('finds no key in %s', (text) => {
    expect(matches({ key: 'plan', operator: 'is_set' }, text)).toBe(false);
    expect(matches({ key: 'length', operator: 'is_not_set' }, text)).toBe(true);
  });

  it('asks for every filter to be met, and for none when there is none', () => {
    const plan = PropertyFilter.parse({ key: 'plan', value: 'pro' });
    const visits = PropertyFilter.parse({ key: 'visits', value: 1 });
    expect(matchesProperties(properties, [plan, visits])).toBe(false);
    expect(matchesProperties(properties, [])).toBe(true);
  });
});

describe('PropertyFilter', () => {
  it.each([
    {},
    { key: 'plan' },
    { key: 1, value: 'x' },
    { key: 'plan', operator: 'regex', value: 'x' },
    { key: 'plan', operator: 'gt', value: [1, 2] },
    { key: 'plan', operator: 'icontains', value: null },
    'plan',
  ])('refuses %j', (filter) => {
    expect(PropertyFilter.safeParse(filter).success).toBe(false);
  });
});
