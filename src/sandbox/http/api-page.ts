import { html, raw } from 'hono/html';
import type { z } from 'zod';
import {
  documentedPathPrefix,
  endpointNames,
  endpoints,
  type Endpoint,
  type EndpointName,
} from '../../contract/endpoints.ts';
import { pagePolicy, pageStyle } from './api-page-style.ts';
import { fieldsOf, groupOf, type JsonSchema } from './openapi.ts';

type Markup = ReturnType<typeof html>;
/** The values in the examples on the page. */
export type PageSubject = { origin: string; projectId: string; apiKey: string; playlist: string | undefined };

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
