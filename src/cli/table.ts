import { createRequire } from 'node:module';
import type StringWidth from 'string-width';
import { countText, printable } from '../core/words.ts';

/** A column of a printed table by its heading; `right` when its texts are aligned to the right, as numbers always are. */
export type TableColumn = string | { right: string };

/** Lays out rows under headings, by the width that a terminal shows. Control characters become spaces. */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly (string | number | null)[])[],
): string {
  const headings = columns.map((column) => (typeof column === 'string' ? column : column.right));
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? countText(cell) : (cell ?? ''))));
  const lines = [headings, ...texts].map((row) => row.map(printable));
  const isRight = columns.map(
    (column, index) => typeof column !== 'string' || rows.some((row) => typeof row[index] === 'number'),
  );
  const widths = columns.map((_column, index) => Math.max(...lines.map((line) => widthOf(line[index] ?? ''))));
  const padded = (line: readonly string[]): string[] =>
    columns.map((_column, index) => {
      const cell = line[index] ?? '';
      const padding = ' '.repeat((widths[index] ?? 0) - widthOf(cell));
      return isRight[index] ? padding + cell : cell + padding;
    });
  return lines.map((line) => `${padded(line).join('  ').trimEnd()}\n`).join('');
}

/** How many columns of a terminal a text takes. Loads the tables of wide characters where a text needs them. */
function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  const loaded = createRequire(import.meta.url)('string-width') as { default: typeof StringWidth };
  return loaded.default(text);
}
