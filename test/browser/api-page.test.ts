import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { endpointNames } from '../../src/contract/endpoints.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { ask, smallSandbox } from '../sandbox/sandbox-requests.ts';
import { openWatched } from './open-page.ts';

const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const pictures = process.env['PICTURES'];

/** Opens the API page of a sandbox. */
async function openApiPage(
  sandbox: Sandbox,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; picture: (name: string) => Promise<void> }> {
  const page = await openWatched(sandbox.url, options);
  await page.locator('#reference[aria-busy="false"]').waitFor();
  return {
    page,
    picture: async (name) => {
      if (pictures === undefined) return;
      mkdirSync(pictures, { recursive: true });
      await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
    },
  };
}

/** What axe finds in the markup of Swagger UI itself, which a page around it cannot change. */
const knownOfSwaggerUi = [
  'heading-order',
  'nested-interactive',
  'region',
  'scrollable-region-focusable',
  'select-name',
];

const looks: Record<string, BrowserContextOptions> = {
  light: { colorScheme: 'light', viewport: { width: 1200, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1200, height: 900 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

describe.each(Object.entries(looks))('in %s', (look, options) => {
  it('names every endpoint, with its parameters and examples, and nothing sticks out', async () => {
    await using sandbox = await smallSandbox();
    const { page, picture } = await openApiPage(sandbox, options);
    expect(await page.locator('.opblock').count()).toBe(endpointNames.length + 1);
    await picture(`api-${look}`);
    await page.getByText('List persons, filtered and paged').click();
    await page.locator('.parameters [data-param-name]').nth(7).waitFor();
    expect(await page.locator('.parameters [data-param-name]').count()).toBe(8);
    await picture(`api-list-${look}`);
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
    await page.evaluate(axeSource);
    const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
    );
    expect(
      violations
        .filter(({ id }) => !knownOfSwaggerUi.includes(id))
        .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 120)}`)),
    ).toEqual([]);
  });
});

it('a request that is tried out is answered by the sandbox, and changes its data', async () => {
  await using sandbox = await smallSandbox();
  const { page, picture } = await openApiPage(sandbox, looks['light']);
  const operation = page.locator('.opblock', { hasText: "Merge properties into a person's" });
  await operation.locator('.opblock-summary-control').click();
  await operation.locator('button.execute').click();
  const status = operation.locator('.live-responses-table tbody .response-col_status');
  await status.waitFor();
  expect(await status.innerText()).toMatch(/^200/);
  await picture('api-tried');
  const id = await operation.locator('[data-param-name="id"] input').inputValue();
  expect(JSON.parse((await ask(sandbox, `/persons/${id}`)).text)).toMatchObject({ properties: { plan: 'pro' } });
});

it('the files of the page are in the package that the checkout has, with their licence', () => {
  const folder = fileURLToPath(new URL('.', import.meta.resolve('swagger-ui-dist/swagger-ui.css')));
  for (const name of [
    'swagger-ui-bundle.js',
    'swagger-ui.css',
    'LICENSE',
    'NOTICE',
    'swagger-ui-bundle.js.LICENSE.txt',
  ])
    expect([name, existsSync(join(folder, name))]).toEqual([name, true]);
});
