import { html } from 'hono/html';
import type { Markup } from './markup.ts';

/** A column; what it is decides how it is set: numbers to the right, letters in the middle, times and ids unbroken. */
export type Column = { heading: string; is?: 'number' | 'letter' | 'when' | 'id' };

/** A table that may be moved sideways where it is wider than the page; the first cell of a row heads it. */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly (Markup | string)[])[],
  { together = false }: { together?: boolean } = {},
): Markup {
  const classOf = (index: number): string => columns[index]?.is ?? '';
  return html`<div
    class="table${together ? ' together' : ''}"
    role="group"
    tabindex="0"
    aria-label="${caption}"
  >
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(({ heading }, index) => html`<th scope="col" class="${classOf(index)}">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell, index) =>
                index === 0
                  ? html`<th scope="row" class="${classOf(index)}">${cell}</th>`
                  : html`<td class="${classOf(index)}">${cell}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
