import { expect, test } from 'vitest';
import { drawChart } from '../../src/markup/chart.ts';
import { textOf } from '../../src/markup/markup.ts';

test('a value without a neighbour is a dot: a line of one value would not be seen', () => {
  const drawn = (values: (number | null)[]): string =>
    textOf(
      drawChart({
        label: 'rows',
        marks: 'lines',
        series: [{ name: 'rows', tone: 's0', values }],
        categories: values.map(() => ''),
      }),
    );
  expect(drawn([null, 4, null, 2, 3])).toMatch(/class="l-s0 dot" d="M180,0h0"/);
  expect(drawn([1, 4, 2, 2, 3])).not.toContain('dot');
});
