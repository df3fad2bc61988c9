import stringWidth from 'string-width';
import { printable } from '../core/words.ts';

/** A column of a printed table: its heading, and the side that its cells are aligned to. */
export type TableColumn = { heading: string; align?: 'left' | 'right' };

/**
 * Lays out rows under their headings, aligned by what a terminal shows (wide and combining characters included).
 * Ends with a line feed. Control characters in cells are shown as spaces, so that no cell can move the cursor.
 */
export function formatTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string {
  const lines = [columns.map(({ heading }) => heading), ...rows.map((row) => row.map(printable))];
  const widths = columns.map((_column, index) =>
    Math.max(...lines.map((line) => stringWidth(line[index] ?? ''))),
  );
  return lines
    .map((line) =>
      columns
        .map(({ align }, index) => {
          const cell = line[index] ?? '';
          const padding = ' '.repeat((widths[index] ?? 0) - stringWidth(cell));
          return align === 'right' ? padding + cell : cell + padding;
        })
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
