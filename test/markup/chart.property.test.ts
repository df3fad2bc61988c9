import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { drawChart, layOut, type Chart } from '../../src/markup/chart.ts';
import { textOf } from '../../src/markup/markup.ts';

const chartOf = (values: readonly (readonly (number | null)[])[], marks: Chart['marks'], limit?: number): Chart => ({
  label: 'a chart',
  marks,
  series: (['s0', 's1', 's2'] as const).map((tone, index) => ({
    name: tone,
    tone,
    values: values.map((each) => each[index] ?? null),
  })),
  categories: values.map((_each, index) => String(index)),
  limit,
});

it('bars are as high as their numbers, none leaves the chart, and stacked ones do not overlap', () => {
  const numbers = fc.array(fc.array(fc.nat({ max: 5000 }), { minLength: 3, maxLength: 3 }), {
    minLength: 1,
    maxLength: 90,
  });
  fc.assert(
    fc.property(numbers, fc.constantFrom('beside', 'stacked'), (values, marks) => {
      const { bars, ticks } = layOut(chartOf(values, marks));
      const end = ticks.at(-1) ?? 0;
      expect(bars.length).toBe(values.flat().filter((value) => value > 0).length);
      for (const bar of bars) {
        expect(bar.y).toBeGreaterThanOrEqual(-0.001);
        expect(bar.y + bar.height).toBeLessThanOrEqual(100.001);
        expect(bar.x).toBeGreaterThanOrEqual(0);
        expect(bar.x + bar.width).toBeLessThanOrEqual(600.001);
        expect(bar.width).toBeLessThanOrEqual(50);
        expect(bar.height / 100).toBeCloseTo((values[bar.category]?.[bar.series] ?? 0) / end, 6);
      }
      if (marks === 'beside') return;
      for (const column of Map.groupBy(bars, ({ category }) => category).values())
        for (const [index, bar] of column.entries()) {
          const below = column[index - 1];
          if (below) expect(bar.y + bar.height).toBeCloseTo(below.y, 6);
        }
    }),
  );
});

it('a bar that is alone stands in the middle, and three abreast do', () => {
  const [alone] = layOut(chartOf([[1]], 'stacked')).bars;
  expect(alone).toMatchObject({ x: 275, width: 50 });
  expect(layOut(chartOf([[1, 2, 3]], 'beside')).bars.map(({ x }) => x)).toEqual([225, 275, 325]);
});

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [2, [0, 1, 2]],
  [3, [0, 1, 2, 3]],
  [7, [0, 2, 4, 6, 8]],
  [21, [0, 5, 10, 15, 20, 25]],
  [240, [0, 50, 100, 150, 200, 250]],
  [1_200_000, [0, 200_000, 400_000, 600_000, 800_000, 1_000_000, 1_200_000]],
])('an axis for %i has the whole, evenly spaced numbers %j', (value, ticks) => {
  expect(layOut(chartOf([[value]], 'stacked')).ticks).toEqual(ticks);
});

it('shows a limit only where it does not flatten the bars', () => {
  expect(layOut(chartOf([[100]], 'stacked', 240)).limitY).toBeCloseTo(4, 0);
  expect(layOut(chartOf([[10]], 'stacked', 240)).limitY).toBeNull();
});

it('a line has a gap where there is no number, and every text of a chart is escaped', () => {
  const chart = {
    ...chartOf([[1], [2], [null], [4], [3]], 'lines'),
    label: '<b>"label"',
    categories: ['<i>', '', '', '', '&'],
  };
  const text = textOf(drawChart(chart));
  expect(text).toContain('d="M60,75L180,50M420,0L540,25"');
  expect(text).toContain('aria-label="&lt;b&gt;&quot;label&quot;"');
  expect(text).toContain('&lt;i&gt;');
  expect(text).not.toMatch(/<i>|<b>|NaN|style=|<script/);
});
