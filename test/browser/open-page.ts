import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, expect, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { Overview } from '../../src/status/overview.ts';
import { startStatusServer } from '../../src/status/server.ts';
import type { Listening } from '../../src/core/listening.ts';

let launched: Promise<Browser> | undefined;

/** Where pictures of the page go: the folder that PICTURES names, or one of their own. */
const pictures = process.env['PICTURES'] ?? mkdtempSync(join(tmpdir(), 'status-page-'));

afterAll(async () => {
  await (await launched)?.close();
});

/** The system's Chromium, started once for a file of tests. */
export function browser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  return launched;
}

/** An open status page. `problems` are what the browser complained of; every test ends with none. */
export type OpenPage = {
  page: Page;
  server: Listening;
  /** Has the worker say something else from now on. */
  show: (next: Overview) => void;
  picture: (name: string) => Promise<void>;
};

/** A clock that goes fast, so that what changes is gathered anew at once. */
const quickClock = { now: () => systemClock.now() * 20 };

/** Opens an address. The test fails for anything that is asked of another host, or complained of. */
export async function openWatched(url: string, options: BrowserContextOptions): Promise<Page> {
  const context = await (await browser()).newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    // A worker is started from the page's own text.
    if (![url, 'data:', 'blob:null/'].some((start) => request.url().startsWith(start)))
      problems.push(`asks for ${request.url()}`);
  });
  onTestFinished(async () => {
    expect(problems).toEqual([]);
    await context.close();
  });
  await page.goto(url);
  return page;
}

/** Opens the page of a real status server, in a browser of its own settings. */
export async function openPage(overview: Overview, options: BrowserContextOptions = {}): Promise<OpenPage> {
  let shown = overview;
  const server = await startStatusServer({
    access: { host: '127.0.0.1', allowedHosts: [], token: null },
    port: 0,
    overview: () => Promise.resolve(shown),
    processMetrics: () => Promise.resolve(''),
    certificateOf: () => undefined,
    silentMs: () => 0,
    clock: quickClock,
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => server.close());
  const page = await openWatched(server.url, options);
  return {
    page,
    server,
    show: (next) => {
      shown = next;
    },
    picture: async (name) => {
      mkdirSync(pictures, { recursive: true });
      await page.screenshot({ path: join(pictures, `${name.replaceAll(' ', '-')}.png`), fullPage: true });
    },
  };
}

const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

type AxeResult = { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] };

/** What axe finds wrong, best practices included. */
export async function violationsOf(page: Page): Promise<string[]> {
  // Through the debugger: the page's own policy lets no script in.
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate<AxeResult>('axe.run(document, { resultTypes: ["violations"] })');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 120)}: ${failureSummary}`),
  );
}
