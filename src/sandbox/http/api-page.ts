import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { html, raw } from 'hono/html';

/** The values that the page fills in. */
export type PageSubject = { projectId: string; apiKey: string };

/** The files of Swagger UI that a browser gets, with their media types. */
const referenceTypes = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
} as const;

/** Starts Swagger UI: no validator on another host, no choice of servers where there is one, and requests carry the sandbox's key. */
const startScript = `
const dark = matchMedia('(prefers-color-scheme: dark)');
const setLook = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
setLook();
dark.addEventListener('change', setLook);
const page = document.getElementById('reference');
const reference = SwaggerUIBundle({
  url: '/openapi.json',
  domNode: page,
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  displayOperationId: true,
  validatorUrl: null,
  plugins: [{ wrapComponents: { ServersContainer: () => () => null } }],
  onComplete: () => {
    reference.preauthorizeApiKey('personalApiKey', page.dataset.key);
    page.setAttribute('aria-busy', 'false');
  },
});
`;

/** What Swagger UI leaves to the page, and its colours where their contrast is below 4.5 to 1. */
const pageStyle = `
:root { color-scheme: light; --ink: #1c2430; --paper: #fff; --accent: #0b5d66; }
:root.dark-mode { color-scheme: dark; --ink: #e4e8ee; --paper: #1c2022; --accent: #6ed0d8; }
body { margin: 0; background: var(--paper); color: var(--ink); }
header { max-width: 1460px; margin: 0 auto; padding: 1.5rem 20px 0; box-sizing: border-box; font: 1rem/1.55 system-ui, sans-serif; }
header p { margin: 0; max-width: 46rem; }
header a { color: var(--accent); }
header code { overflow-wrap: anywhere; }
@media (max-width: 40rem) { .swagger-ui .opblock-summary-operation-id { display: none; } }
.swagger-ui .info .title small { background: #4a5568; }
.swagger-ui .info .title small.version-stamp { background: #4d6a00; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1b5e9e; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1d6b45; }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #14695a; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
.swagger-ui .microlight span[style*="211, 99, 99"] { color: #ff9c9c !important; }
:root:not(.dark-mode) .swagger-ui :is(a.link, .url) { color: #1b5e9e; }
:root:not(.dark-mode) .swagger-ui .btn.authorize { color: #1d6b45; border-color: #1d6b45; }
:root:not(.dark-mode) .swagger-ui .btn.authorize svg { fill: #1d6b45; }
:root:not(.dark-mode) .swagger-ui .btn.cancel { color: #b3261e; border-color: #b3261e; }
:root:not(.dark-mode) .swagger-ui .parameter__in { color: #555; }
:root:not(.dark-mode) .swagger-ui .json-schema-2020-12-expand-deep-button { color: #4a4a4a; }
.swagger-ui .btn.execute { background: #1b5e9e; border-color: #1b5e9e; }
`;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page's headers. Whatever it loads and asks comes from the sandbox itself. Swagger UI sets styles of elements. */
export const apiPageHeaders = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src 'self' ${hashOf(startScript)}`,
    `style-src-elem 'self' ${hashOf(pageStyle)}`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** The page of the API: Swagger UI over `/openapi.json`, with the sandbox's key filled in. */
export function apiPage({ projectId, apiKey }: PageSubject): ReturnType<typeof html> {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Analytics Service API (sandbox)</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/__sandbox/reference/swagger-ui.css" />
        ${raw(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        <header>
          <p>
            This sandbox serves the documented API with generated people, to this machine only. Project
            <code>${projectId}</code>; key with every scope <code>${apiKey}</code>. The requests that you try out below
            carry this key and change the data of the sandbox.
          </p>
          <noscript>
            <p>This page needs JavaScript. <a href="/openapi.json">The OpenAPI document</a> says the same.</p>
          </noscript>
        </header>
        <div id="reference" data-key="${apiKey}" aria-busy="true">
          <p>
            Swagger UI is a development package, which this installation leaves out. Read
            <a href="/openapi.json">the OpenAPI document</a>.
          </p>
        </div>
        <script src="/__sandbox/reference/swagger-ui-bundle.js"></script>
        ${raw(`<script>${startScript}</script>`)}
      </body>
    </html>`;
}

/** A file of Swagger UI. Undefined for any other name, and where development packages are not installed. */
export function referenceFile(name: string): { body: Uint8Array<ArrayBuffer>; type: string } | undefined {
  const type = Object.entries(referenceTypes).find(([known]) => known === name)?.[1];
  const path = type && [packedPath(name), installedPath(name)].find(existsSync);
  return path ? { body: new Uint8Array(readFileSync(path)), type } : undefined;
}

/** Where the package brings the files. */
function packedPath(name: string): string {
  return fileURLToPath(new URL(`../reference/${name}`, import.meta.url));
}

/** Where the files are in a checkout. */
function installedPath(name: string): string {
  return fileURLToPath(new URL(`../../../node_modules/swagger-ui-dist/${name}`, import.meta.url));
}
