import stringWidth from 'string-width';
import { printable } from '../core/words.ts';

/** A column of a printed table by its heading; `right` when its cells are aligned to the right. */
export type TableColumn = string | { right: string };

/** Lays out rows under headings, by the width that a terminal shows. Control characters become spaces. */
export function formatTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string {
  const headings = columns.map((column) => (typeof column === 'string' ? column : column.right));
  const lines = [headings, ...rows].map((row) => row.map(printable));
  const widths = columns.map((_column, index) => Math.max(...lines.map((line) => stringWidth(line[index] ?? ''))));
  const padded = (line: readonly string[]): string[] =>
    columns.map((column, index) => {
      const cell = line[index] ?? '';
      const padding = ' '.repeat((widths[index] ?? 0) - stringWidth(cell));
      return typeof column === 'string' ? cell + padding : padding + cell;
    });
  return lines.map((line) => `${padded(line).join('  ').trimEnd()}\n`).join('');
}
