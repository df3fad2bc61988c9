import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type BrowserContextOptions, type Page } from 'playwright-core';
import { showState, stateNames } from './states.ts';

// Makes pictures of the status page in its states, each by the real worker beside a sandbox, and ends with 1 where something is cut.
//   npm run pictures -- FOLDER [STATE…]    every state, on a phone and a desk, light and dark
//   npm run pictures -- --docs             the pictures of README and docs/, into docs/pictures
const [folder, ...wanted] = process.argv.slice(2);
if (folder === undefined) throw new Error('name a folder for the pictures, or --docs');

/** The pictures of the pages, by the state that each shows. */
const ofDocs: Readonly<Record<string, string>> = {
  healthy: 'status-well',
  held: 'status-approval',
  twenty: 'status-projects',
};
const docsFolder = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));

const looks: Readonly<Record<string, BrowserContextOptions>> = Object.fromEntries(
  [390, 1280].flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) => [
      `${width}-${colorScheme}`,
      { colorScheme, viewport: { width, height: 900 }, reducedMotion: 'reduce' },
    ]),
  ),
);

const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  if (folder === '--docs') await takeForDocs();
  else await takeAll(folder, wanted.length > 0 ? wanted : stateNames);
} finally {
  await browser.close();
}

async function takeForDocs(): Promise<void> {
  for (const [state, name] of Object.entries(ofDocs)) {
    await using shown = await showState(state);
    const page = await open(shown.url, { ...looks['1280-light'], viewport: { width: 1280, height: 760 } });
    await page.screenshot({ path: join(docsFolder, `${name}.png`) });
    await page.context().close();
  }
}

async function takeAll(to: string, states: readonly string[]): Promise<void> {
  mkdirSync(to, { recursive: true });
  for (const state of states) {
    await using shown = await showState(state);
    for (const [look, options] of Object.entries(looks)) {
      const page = await open(shown.url, options);
      const path = join(to, `${state}-${look}.png`);
      await page.screenshot({ path, fullPage: true });
      const cut = await cutIn(page);
      process.stdout.write(`${[path, ...cut].join('\n  cut: ')}\n`);
      if (cut.length > 0) process.exitCode = 1;
      await page.context().close();
    }
  }
}

async function open(url: string, options: BrowserContextOptions): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  await page.goto(url);
  await page.locator('html[data-live="on"]').waitFor();
  return page;
}

/** What is wider than the room that it has. */
function cutIn(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    [document.documentElement, ...document.querySelectorAll('body, body *')]
      .filter((each) => each.clientWidth > 1 && each.scrollWidth > each.clientWidth + 1)
      .filter((each) => getComputedStyle(each).display !== 'inline')
      // The labels of an axis hang over its ends, and a table is scrolled.
      .filter((each) => !each.closest('.hours, .plot, .table') && !each.matches('.chart, .timeline'))
      .map((each) => each.tagName + ' ' + each.className + ' ' + each.scrollWidth + ' in ' + each.clientWidth)`);
}
