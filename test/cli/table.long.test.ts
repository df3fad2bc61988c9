import stringWidth from 'string-width';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTable } from '../../src/cli/table.ts';

const columns = ['name', { right: 'rows' }, 'state'];

test('columns are as wide as their widest cell, and aligned', () => {
  expect(
    formatTable(columns, [
      ['persons', '1', 'ok'],
      ['x', '12,000', 'failed'],
    ]),
  ).toBe(['name       rows  state', 'persons       1  ok', 'x        12,000  failed', ''].join('\n'));
});

test('without rows there are the headings', () => {
  expect(formatTable(columns, [])).toBe('name  rows  state\n');
});

test('wide and combining characters take the room that they take on a terminal', () => {
  const lines = formatTable(
    ['a', 'b'],
    [
      ['日本', '|'],
      ['e\u0301', '|'],
      ['👩‍👩‍👧', '|'],
    ],
  ).split('\n');
  expect(lines.slice(1, 4).map((line) => stringWidth(line))).toEqual([7, 7, 7]);
});

test('missing cells are empty', () => {
  expect(formatTable(columns, [['x']])).toBe('name  rows  state\nx\n');
});

test('no cell can move the cursor or begin a line', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 8 }), { maxLength: 4 }), (cells) => {
      const text = formatTable(['a'], [...cells.map((cell) => [cell]), ['\u001B[2J\r\n\t\u009B']]);
      expect(text.split('\n')).toHaveLength(cells.length + 3);
      expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    }),
    { numRuns: 300 },
  );
});

test('a table that is wider than the terminal has its widest texts broken between words', () => {
  const rows = [['persons', 12, 'the mirror, one SQLite file']];
  expect(formatTable(['table', 'rows', 'what it is'], rows, 32)).toBe(
    ['table    rows  what it is', 'persons    12  the mirror, one', '               SQLite file', ''].join('\n'),
  );
  const narrow = formatTable(['table', 'rows', 'what it is'], [...rows, ['x', 1, '\n']], 21);
  expect(narrow).toBe(
    ['table       persons', 'rows        12', 'what it is  the mirror, one SQLite file', '']
      .join('\n')
      .concat(['', 'table       x', 'rows        1', 'what it is', ''].join('\n')),
  );
  expect(formatTable(['table', 'rows', 'what it is'], rows).split('\n')).toHaveLength(3);
});

test('a terminal that does not know its width, such as a serial line, shows a table as wide as it is', () => {
  const { isTTY, columns } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, columns: 0 });
  try {
    expect(formatTable(['table', 'rows'], [['persons', 12]])).toBe('table    rows\npersons    12\n');
  } finally {
    Object.assign(process.stdout, { isTTY, columns });
  }
});
