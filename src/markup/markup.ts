import { html } from 'hono/html';
import { countText } from '../core/words.ts';

/** A piece of a page. A value that is put into it is escaped, unless the value is markup itself. */
export type Markup = ReturnType<typeof html>;

/** The text of a page. Throws when a piece of the page is a promise. */
export function textOf(markup: Markup): string {
  if (markup instanceof Promise) throw new Error('a piece of a page is a promise');
  return String(markup);
}

/** A column. `is` decides how its texts are set: to the right like numbers, in the middle, or unbroken. */
type Column = string | { heading: string; is: 'number' | 'letter' | 'when' | 'id' };

/** A table of at most so many rows stays on one sheet where it is printed. */
const rowsTogether = 12;

/** A table that scrolls sideways where it is wider than the page. The first cell of a row is the row's heading. */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly (Markup | string | number)[])[],
): Markup {
  const classes = columns.map((column, index) => {
    if (typeof column !== 'string') return column.is;
    return rows.some((cells) => typeof cells[index] === 'number') ? 'number' : '';
  });
  const headings = columns.map((column) => (typeof column === 'string' ? column : column.heading));
  const together = rows.length <= rowsTogether ? ' together' : '';
  return html`<div class="table${together}" role="group" tabindex="0" aria-label="${caption}">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${headings.map((heading, index) => html`<th scope="col" class="${classes[index]}">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell, index) => {
                const text = typeof cell === 'number' ? countText(cell) : cell;
                return index === 0
                  ? html`<th scope="row" class="${classes[index]}">${text}</th>`
                  : html`<td class="${classes[index]}" data-label="${headings[index]}">${text}</td>`;
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
