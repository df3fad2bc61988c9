import packageJson from '../../package.json' with { type: 'json' };
import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { textOf, type Markup } from '../markup/markup.ts';

/** The style of every page for auditors: light and dark, from a phone's width up, and on A4. */
const pageStyle = `
:root { color-scheme: light dark; --ink: light-dark(#1a2330, #e6eaf0); --soft: light-dark(#525d6d, #a3aebd);
  --paper: light-dark(#fdfcfa, #13171d); --card: light-dark(#fff, #1a2028); --line: light-dark(#dcd8cf, #333c48);
  --accent: light-dark(#0b5563, #74cfda); --warn: light-dark(#8c2f0b, #ffb08a); --warn-paper: light-dark(#fdf1ea, #2c1d16);
  --good: light-dark(#1d5c38, #8fd6ab); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif;
  -webkit-print-color-adjust: exact; print-color-adjust: exact; }
header, main, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.5rem; }
header { padding-block: 2.5rem .5rem; }
.kind { margin: 0; color: var(--accent); font-weight: 600; letter-spacing: .02em; }
h1 { margin: .1rem 0 .4rem; font-size: 1.9rem; line-height: 1.15; letter-spacing: -.02em; overflow-wrap: anywhere; }
h2 { margin: 2.4rem 0 .6rem; font-size: 1.3rem; line-height: 1.25; letter-spacing: -.01em; break-after: avoid; }
h3 { margin: 1.4rem 0 .4rem; font-size: 1rem; break-after: avoid; }
p, li, dd { max-width: 50rem; text-wrap: pretty; }
p { margin: .4rem 0; }
.summary { font-size: 1.15rem; font-weight: 600; }
.soft { color: var(--soft); }
a { color: var(--accent); }
code, pre { font: .86em/1.5 ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', monospace; overflow-wrap: anywhere; }
pre { margin: .6rem 0; padding: .7rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  white-space: pre-wrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.5rem; margin: .6rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(4, 1fr); gap: .6rem; margin: 1.2rem 0; padding: 0; list-style: none; }
.figures li { padding: .6rem .8rem; font-size: .92rem; line-height: 1.3; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; break-inside: avoid; }
.figures b { display: block; white-space: nowrap; font-size: 1.4rem; line-height: 1.2; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.figures .alarm { border-color: var(--warn); background: var(--warn-paper); }
.figures .alarm b { color: var(--warn); }
.panel { margin: 1rem 0; padding: .9rem 1.2rem; background: var(--card); border: 1px solid var(--line); border-left: 5px solid var(--accent);
  border-radius: .5rem; }
.panel h2 { margin: 0 0 .3rem; }
.panel ul { margin: .4rem 0; padding-left: 1.2rem; }
.panel li { margin: .2rem 0; }
.panel p, .panel li { max-width: none; }
.weak { border-left-color: var(--warn); background: var(--warn-paper); }
.late { color: var(--warn); font-weight: 600; }
.good { color: var(--good); font-weight: 600; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0; font-size: .93rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--soft); vertical-align: bottom; font-weight: 600; }
tbody tr { break-inside: avoid; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
.when { white-space: nowrap; font-variant-numeric: tabular-nums; }
.id { white-space: nowrap; }
.letter { text-align: center; white-space: nowrap; }
thead .letter { white-space: normal; hyphens: manual; }
abbr { text-decoration: none; font-weight: 600; }
.skip:not(:focus) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip:focus { position: absolute; left: 1rem; top: .5rem; background: var(--card); padding: .5rem 1rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
footer { padding-block: 2rem 3rem; color: var(--soft); font-size: .88rem; }
.pairs { grid-template-columns: max-content 1fr max-content 1fr; }
.table:has(.letter) table { font-size: .8rem; }
.table:has(.letter) :is(th, td) { padding-right: .4rem; }
.table:has(.letter) .id code { display: inline-block; max-width: 19ch; white-space: normal; }
@media screen and (max-width: 52rem) {
  dl, .pairs { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: .5rem; }
  h1 { font-size: 1.6rem; }
  .figures { grid-template-columns: repeat(2, 1fr); }
  .table :is(table, caption, tbody, tr, th, td) { display: block; }
  .table thead { display: none; }
  .table tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .table :is(th, td) { padding: 0; border: 0; text-align: left; white-space: normal; }
  .table tbody th { font-weight: 600; }
  td[data-label]::before { content: attr(data-label) ': '; color: var(--soft); }
  .id code { overflow-wrap: anywhere; white-space: normal; }
}
@page { size: A4; margin: 14mm 15mm 15mm; }
@media print {
  :root { color-scheme: light; --paper: #fff; font-size: 8.6pt; }
  body { line-height: 1.34; }
  header, main, footer { max-width: none; padding: 0; }
  h2 { margin-top: 1rem; }
  p, li, dd { max-width: none; }
  .panel { padding: .5rem .9rem; margin: .6rem 0; break-inside: avoid; }
  .panel li { margin: .1rem 0; }
  .figures { grid-template-columns: repeat(8, 1fr); gap: .4rem; margin: .8rem 0; }
  .figures li { padding: .4rem .5rem; }
  .together, dl { break-inside: avoid; }
  .table { overflow: visible; }
  th, td { padding: .18rem .7rem .18rem 0; }
  dl { grid-template-columns: max-content 1fr; gap: .1rem 1.2rem; }
  .pairs { grid-template-columns: max-content 1fr max-content 1fr; }
  dd { margin: 0; }
  .skip { display: none; }
  footer { padding: .8rem 0 0; }
}
`;

/** Each printed sheet says which page of what it is. A title has no quotes and no backslash. */
function sheetStyle(title: string): string {
  return `
@page { @bottom-left { content: '${title.replaceAll(/['"\\<\n]/gu, '')}'; font: 7.5pt system-ui, sans-serif; color: #525d6d; }
  @bottom-right { content: 'page ' counter(page) ' of ' counter(pages); font: 7.5pt system-ui, sans-serif; color: #525d6d; } }
`;
}

/** Allows the page's own style and nothing else: no script, no request, no form. */
function policyOf(style: string): string {
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
}

/** A whole page: one file that loads nothing from elsewhere. */
export function renderPage(page: {
  title: string;
  /** What kind of page it is, above its title. */
  kind: string;
  lead: Markup;
  content: Markup;
  footer: string;
}): string {
  const style = pageStyle + sheetStyle(page.title);
  return textOf(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta http-equiv="Content-Security-Policy" content="${raw(policyOf(style))}" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="referrer" content="no-referrer" />
          <meta name="generator" content="analytics-mirror ${packageJson.version}" />
          <title>${page.title}</title>
          ${raw(`<style>${style}</style>`)}
        </head>
        <body>
          <a class="skip" href="#content">Skip to the content</a>
          <header>
            <p class="kind">${page.kind}</p>
            <h1>${page.title}</h1>
            ${page.lead}
          </header>
          <main id="content" tabindex="-1">${page.content}</main>
          <footer><p>${page.footer} analytics-mirror ${packageJson.version}.</p></footer>
        </body>
      </html> `,
  );
}

/** A list of names and values; `pairs`: short ones, of which two stand beside each other. */
export function factList(facts: readonly (readonly [string, Markup | string])[], layout: '' | 'pairs' = ''): Markup {
  return html`<dl class="${layout}">
    ${facts.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}
