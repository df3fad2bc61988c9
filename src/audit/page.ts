import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { pageStyle } from './page-style.ts';

/** A piece of a page. Whatever is put into one is escaped, unless it is one itself. */
export type Markup = ReturnType<typeof html>;

const styleHash = createHash('sha256').update(pageStyle).digest('base64');

/** Allows the page's own style and nothing else: no script, no request, no form. */
const pagePolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;

/** A whole page: one file that asks for nothing from elsewhere. */
export function renderPage(page: {
  title: string;
  /** What kind of page it is, above its title. */
  kind: string;
  lead: Markup;
  content: Markup;
  footer: string;
}): string {
  const markup = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${raw(pagePolicy)}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>${page.title}</title>
        ${raw(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <p class="kind">${page.kind}</p>
          <h1>${page.title}</h1>
          ${page.lead}
        </header>
        <main id="content" tabindex="-1">${page.content}</main>
        <footer><p>${page.footer}</p></footer>
      </body>
    </html> `;
  if (markup instanceof Promise) throw new Error('a page that waits for something');
  return String(markup);
}

/** A column of a table; numbers stand to the right, letters in the middle, times and ids are not broken. */
export type PageColumn = { heading: string; is?: 'number' | 'letter' | 'when' | 'id' };

/** So many rows are kept on one sheet. */
const rowsTogether = 12;

/** A table with its caption; the first cell of a row heads it. */
export function pageTable(
  caption: string,
  columns: readonly PageColumn[],
  rows: readonly (readonly (Markup | string)[])[],
): Markup {
  const together = rows.length <= rowsTogether ? 'together' : '';
  return html`<div class="table ${together}" role="region" tabindex="0" aria-label="${caption}">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(({ heading, is }) => html`<th scope="col" class="${is ?? ''}">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell, index) =>
                index === 0
                  ? html`<th scope="row" class="${columns[index]?.is ?? ''}">${cell}</th>`
                  : html`<td class="${columns[index]?.is ?? ''}">${cell}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Names and what they are. */
export function factList(facts: readonly (readonly [string, Markup | string])[]): Markup {
  return html`<dl>
    ${facts.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}
