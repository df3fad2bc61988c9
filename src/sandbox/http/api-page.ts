import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import type { z } from 'zod';
import {
  documentedPathPrefix,
  endpointNames,
  endpoints,
  type Endpoint,
  type EndpointName,
} from '../../contract/endpoints.ts';
import { fieldsOf, groupOf, type JsonSchema } from './openapi.ts';

type Markup = ReturnType<typeof html>;
/** The values in the examples on the page. */
export type PageSubject = { origin: string; projectId: string; apiKey: string; playlist: string | undefined };

/** The style of the API page, in light and dark, from a phone's width up. */
const pageStyle = `
:root { color-scheme: light dark; --ink: light-dark(#1c2430, #e4e8ee); --soft: light-dark(#566070, #9aa5b4);
  --paper: light-dark(#fbfaf7, #14181e); --card: light-dark(#fff, #1b2129); --line: light-dark(#e2ded5, #2d3540);
  --accent: light-dark(#0b5d66, #6ed0d8); --code: light-dark(#f3f0e9, #10141a); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
header, main, nav ul { max-width: 60rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-block: 2.5rem 1rem; }
h1 { margin: 0 0 .5rem; font-size: 1.9rem; letter-spacing: -.02em; line-height: 1.2; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.25rem; text-transform: capitalize; }
p { margin: .4rem 0; }
a { color: var(--accent); }
code, pre { font: .88rem/1.5 ui-monospace, monospace; }
nav { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--line); z-index: 1; }
nav ul { display: flex; gap: 1.25rem; overflow-x: auto; list-style: none; padding-block: .6rem; }
nav a { text-transform: capitalize; text-decoration: none; font-weight: 600; }
section { scroll-margin-top: 3rem; }
details { margin: .5rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
summary { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; padding: .7rem 1rem; cursor: pointer; }
summary code { overflow-wrap: anywhere; }
summary span { color: var(--soft); flex-basis: 100%; }
.method { min-width: 4.2rem; font-weight: 700; color: var(--accent); }
.body { padding: 0 1rem 1rem; border-top: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .9rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
caption { text-align: left; font-weight: 600; }
th, td { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line); font-weight: 400; vertical-align: top; }
thead th { color: var(--soft); }
pre { margin: .75rem 0 0; padding: .8rem 1rem; background: var(--code); border-radius: .4rem; overflow-x: auto; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; z-index: 2; background: var(--card); padding: .5rem 1rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;

const styleHash = createHash('sha256').update(pageStyle).digest('base64');

/** Allows this one style and nothing else: no script, no request, no frame. */
const pagePolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Sent with the page: nothing on it may load, run or be framed. */
export const apiPageHeaders = {
  'Content-Security-Policy': pagePolicy,
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** The endpoint table as a page to read, with an example for each endpoint that runs as it stands. */
export function apiPage(subject: PageSubject): Markup {
  const groups = Map.groupBy(endpointNames, groupOf);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Analytics Service API (sandbox)</title>
        ${raw(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        <a class="skip" href="#endpoints">Skip to the endpoints</a>
        <header>
          <h1>Analytics Service API</h1>
          <p>
            A sandbox of the documented service: ${endpointNames.length} endpoints over generated people, for this
            machine only. Project <code>${subject.projectId}</code>, key with every scope
            <code>${subject.apiKey}</code>.
          </p>
          <p>
            Also here: <a href="/openapi.json">OpenAPI 3.1</a> and <a href="/__sandbox/clock">the clock</a>, which a
            POST of <code>{"advanceSeconds": 604800}</code> moves past the weekly batch.
          </p>
        </header>
        <nav aria-label="Groups of endpoints">
          <ul>
            ${[...groups.keys()].map((group) => html`<li><a href="#${group}">${group}</a></li>`)}
          </ul>
        </nav>
        <main id="endpoints">
          ${[...groups].map(
            ([group, names]) =>
              html`<section id="${group}" aria-labelledby="${group}-title">
                <h2 id="${group}-title">${group}</h2>
                ${names.map((name) => endpointCard(name, subject))}
              </section>`,
          )}
        </main>
      </body>
    </html>`;
}

function endpointCard(name: EndpointName, subject: PageSubject): Markup {
  const endpoint: Endpoint = endpoints[name];
  const { method, path, scope, status, response, summary } = endpoint;
  return html`<details id="${name}">
    <summary>
      <b class="method">${method}</b><code>${documentedPathPrefix}/:project_id${path}</code><span>${summary}</span>
    </summary>
    <div class="body">
      <dl>
        <dt>Name</dt>
        <dd><code>${name}</code></dd>
        <dt>Scope</dt>
        <dd>${scope === null ? 'none shown: any key' : html`<code>${scope}</code>`}</dd>
        <dt>Answer</dt>
        <dd>${status}, ${response ? 'JSON' : 'no body'}</dd>
      </dl>
      ${fieldTable('Query', endpoint.query)} ${endpoint.body ? fieldTable('Body', endpoint.body) : ''}
      <pre tabindex="0" aria-label="Example for ${name}"><code>${curlExample(endpoint, subject)}</code></pre>
    </div>
  </details>`;
}

function fieldTable(caption: string, schema: z.ZodType): Markup | string {
  const fields = fieldsOf(schema);
  if (fields.length === 0) return '';
  return html`<div class="table">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Type</th>
        </tr>
      </thead>
      <tbody>
        ${fields.map(
          ([field, type]) =>
            html`<tr>
              <th scope="row"><code>${field}</code></th>
              <td>${typeText(type)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function typeText({ type, enum: values, deprecated }: JsonSchema): string {
  const text = values ? values.map(String).join(' or ') : String(type ?? 'any JSON');
  return deprecated === true ? `${text}, deprecated` : text;
}

function curlExample({ method, path, body }: Endpoint, { origin, projectId, apiKey, playlist }: PageSubject): string {
  const examplePath = path.replace(':id', '1').replace(':short_id', playlist ?? ':short_id');
  const lines = [
    `curl -i${method === 'GET' ? '' : ` -X ${method}`} '${origin}${documentedPathPrefix}/${projectId}${examplePath}/'`,
    `-H 'Authorization: Bearer ${apiKey}'`,
    ...(body ? [`-H 'Content-Type: application/json' -d '{}'`] : []),
  ];
  return lines.join(' \\\n  ');
}
