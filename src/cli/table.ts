import { createRequire } from 'node:module';
import process from 'node:process';
import type StringWidth from 'string-width';
import { countText, printable } from '../core/words.ts';

/** A column of a printed table by its heading; `right` when its texts are aligned to the right, as numbers always are. */
export type TableColumn = string | { right: string };

/**
 * Lays out rows under headings, by the width that a terminal shows. Control characters become spaces. A table that is wider
 * than the terminal has its widest texts broken between words. Where that is not enough, each cell stands on a line of its
 * own behind its heading. In a pipe every row is one line.
 */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly (string | number | null)[])[],
  widthMax: number = (process.stdout.isTTY && process.stdout.columns) || Infinity,
): string {
  const headings = columns.map((column) => (typeof column === 'string' ? column : column.right));
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? countText(cell) : (cell ?? ''))));
  const lines = [headings, ...texts].map((row) => row.map(printable));
  const isRight = columns.map(
    (column, index) => typeof column !== 'string' || rows.some((row) => typeof row[index] === 'number'),
  );
  const widest = (measure: (text: string) => number): number[] =>
    columns.map((_column, index) => Math.max(...lines.map((line) => measure(line[index] ?? ''))));
  const wanted = widest(widthOf);
  const sum = (all: readonly number[]): number => all.reduce((total, width) => total + width, 2 * (columns.length - 1));
  const excess = sum(wanted) - widthMax;
  const longestWord = (text: string): number => Math.max(...text.split(' ').map(widthOf));
  const widths = excess > 0 ? narrowed(wanted, widest(longestWord), excess) : wanted;
  if (sum(widths) > widthMax && rows.length > 0) return formatCells(headings, texts);
  const padded = (line: readonly string[]): string[] =>
    columns.map((_column, index) => {
      const cell = line[index] ?? '';
      const padding = ' '.repeat((widths[index] ?? 0) - widthOf(cell));
      return isRight[index] ? padding + cell : cell + padding;
    });
  const broken =
    widths === wanted
      ? lines
      : lines.flatMap((line) => {
          const cells = line.map((cell, index) => breakText(cell, widths[index] ?? 0));
          const height = Math.max(...cells.map(({ length }) => length));
          return Array.from({ length: height }, (_, row) => cells.map((cell) => cell[row] ?? ''));
        });
  return broken.map((line) => `${padded(line).join('  ').trimEnd()}\n`).join('');
}

/** Each row as lines of heading and cell, with an empty line between rows. */
function formatCells(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const width = Math.max(...headings.map(widthOf)) + 2;
  const lineOf = (heading: string, cell: string): string =>
    `${heading}${' '.repeat(width - widthOf(heading))}${printable(cell)}`.trimEnd();
  return rows
    .map((row) => headings.map((heading, index) => `${lineOf(heading, row[index] ?? '')}\n`).join(''))
    .join('\n');
}

/** Narrows the widest column that may be narrowed, again and again, until all fit or each is as narrow as its longest word. */
function narrowed(wanted: readonly number[], least: readonly number[], excess: number): number[] {
  const widths = [...wanted];
  for (let left = excess; left > 0; left -= 1) {
    const slack = widths.map((width, index) => (width > (least[index] ?? 0) ? width : 0));
    const most = Math.max(...slack);
    if (most === 0) break;
    widths[slack.indexOf(most)] = most - 1;
  }
  return widths;
}

/** The lines of a text that is broken between words. */
function breakText(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && widthOf(line) <= width) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines;
}

/** How many columns of a terminal a text takes. Loads the tables of wide characters where a text needs them. */
function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  const loaded = createRequire(import.meta.url)('string-width') as { default: typeof StringWidth };
  return loaded.default(text);
}
