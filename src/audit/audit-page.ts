import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { textOf, type Markup } from '../markup/markup.ts';
import { table, type Column } from '../markup/table.ts';
import { pageStyle } from './audit-style.ts';

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
  return textOf(
    html`<!doctype html>
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
      </html> `,
  );
}

/** So many rows are kept on one sheet. */
const rowsTogether = 12;

/** A table, kept on one sheet where it is short. */
export function pageTable(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly (Markup | string)[])[],
): Markup {
  return table(caption, columns, rows, { together: rows.length <= rowsTogether });
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
