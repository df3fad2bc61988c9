import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { judge } from '../../src/status/verdict.ts';
import { nth } from '../nth.ts';
import { thousandProjects, worlds } from '../status/worlds.ts';
import { openPage, violationsOf } from './open-page.ts';

const silentAlerts = thousandProjects.projects[900]?.alerts ?? [];

// Neither the colours nor the width ask for the other: two looks have all of both.
const looks: Record<string, BrowserContextOptions> = {
  light: { colorScheme: 'light', viewport: { width: 1200, height: 900 } },
  'dark phone': { colorScheme: 'dark', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

const names = Object.keys(worlds) as (keyof typeof worlds)[];

/** Where not all is taken, half of the states are shown in each look, so that each is shown. */
const each = Math.min(nth, 2);
const shown = Object.entries(looks).map(([look, options], at) => ({
  look,
  options,
  states: names.filter((_name, state) => state % each === at % each),
}));

describe.each(shown)('in $look', ({ look, options, states }) => {
  it.each(states)('%s: the answer, nothing cut off, no violation', async (name) => {
    const { page, picture } = await openPage(worlds[name], options);
    await expect.poll(() => page.locator('html').getAttribute('data-live')).toBe('on');
    await picture(`${name} ${look}`);
    const { sentence, tone, reasons } = judge(worlds[name]);
    expect(await page.locator('h1').textContent()).toBe(sentence);
    expect(await page.locator('#top').getAttribute('class')).toBe(`top p-${tone}`);
    expect(await page.locator('#todo li').count()).toBe(reasons.length);
    // The answer is to be seen without scrolling, and nothing sticks out to the side.
    const box = await page.locator('h1').boundingBox();
    expect((box?.y ?? 900) + (box?.height ?? 900)).toBeLessThan(300);
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
    for (const details of await page.locator('details').all())
      await details.evaluate((node: { open: boolean }) => {
        node.open = true;
      });
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
  });
});

it('axe finds what is planted', async () => {
  const { page } = await openPage(worlds.fresh);
  await page.evaluate('document.querySelector("h1").insertAdjacentHTML("beforeend", "<img src=/icon/well.svg>")');
  expect((await violationsOf(page)).join()).toMatch(/image-alt/);
});

describe('without JavaScript', () => {
  it.each(['fresh', 'attention'] as const)('%s says the same', async (name) => {
    const { page, picture } = await openPage(worlds[name], { javaScriptEnabled: false });
    await picture(`${name} without script`);
    expect(await page.locator('h1').textContent()).toBe(judge(worlds[name]).sentence);
    expect(await page.locator('#live').textContent()).toBe('as of 12:04:31 UTC');
    expect(await page.locator('#runs svg rect').count()).toBeGreaterThan(50);
    await page.locator('#pass-persons-full-summary').click();
    expect(await page.getByText('seams joined').first().isVisible()).toBe(true);
  });
});

it('of a thousand projects, one is found by what is typed, also after the page has changed', async () => {
  const { page, show, picture } = await openPage(thousandProjects);
  await expect.poll(() => page.locator('html').getAttribute('data-live')).toBe('on');
  const shown = (): Promise<string[]> => page.locator('#projects li:visible a').allInnerTexts();
  expect(await shown()).toHaveLength(100);
  await page.getByLabel('Find a project').fill('project-777');
  expect(await shown()).toEqual(['project-777']);
  expect(await page.locator('#found').textContent()).toBe('1 of 1000');
  await picture('find a project');
  const projects = thousandProjects.projects.map((project) =>
    project.name === 'project-777' ? Object.assign(structuredClone(project), { alerts: silentAlerts }) : project,
  );
  show({ ...thousandProjects, projects });
  await expect.poll(async () => (await shown()).join()).toContain('No machine is at work');
  expect(await shown()).toHaveLength(1);
  await page.getByLabel('Find a project').fill('');
  expect((await shown()).length).toBeGreaterThan(99);
});

describe('live', () => {
  const liveText = 'live, 12:04:31 UTC';

  it('shows what changes, and keeps open what was open and the focus where it was', async () => {
    const { page, show } = await openPage(worlds.fresh);
    await expect.poll(() => page.locator('#live').textContent()).toBe(liveText);
    const summary = page.locator('#pass-persons-full-summary');
    await summary.click();
    show(worlds.attention);
    await expect.poll(() => page.locator('h1').textContent()).toBe(judge(worlds.attention).sentence);
    expect(await page.title()).toContain(judge(worlds.attention).sentence);
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toBe('/icon/broken.svg');
    expect(await page.locator('#pass-persons-full').getAttribute('open')).not.toBeNull();
    show(worlds.running);
    await expect.poll(() => page.locator('#pass-persons-full').textContent()).toContain('The pass is running');
    expect(await page.evaluate('document.activeElement.id')).toBe('pass-persons-full-summary');
    show(worlds['two projects']);
    await expect.poll(() => page.locator('a.card').count()).toBe(2);
    show(worlds.empty);
    await expect.poll(() => page.locator('h1').textContent()).toBe('Nothing is mirrored yet');
  });

  it('opens a closed part when a reason leads there, closes it when it is well, and leaves it else as it was', async () => {
    const { page, show } = await openPage(worlds.fresh);
    const schedule = page.locator('#schedule-fold');
    const isOpen = (): Promise<boolean> => schedule.evaluate((node: { open: boolean }) => node.open);
    await expect.poll(() => page.locator('#live').textContent()).toBe(liveText);
    expect(await isOpen()).toBe(false);
    show(worlds['service down']);
    await expect.poll(isOpen).toBe(true);
    show(worlds.fresh);
    await expect.poll(isOpen).toBe(false);
    await page.locator('#schedule-fold-summary').click();
    show(worlds.running);
    await expect.poll(() => schedule.textContent()).toContain('running: full');
    expect(await isOpen()).toBe(true);
  });

  it('says when it is no longer up to date, instead of that all is well', async () => {
    const { page, server } = await openPage(worlds.fresh);
    await expect.poll(() => page.locator('#live').textContent()).toBe(liveText);
    // What the browser itself says of a lost connection is not the page's complaint.
    page.removeAllListeners('console');
    await server.close();
    await expect
      .poll(() => page.locator('#live').textContent())
      .toBe('not up to date: no connection since 12:04:31 UTC');
    expect(await page.evaluate('getComputedStyle(document.querySelector(".answer")).filter')).toBe('grayscale(1)');
  });
});

it('is used with the keyboard alone, from the top down', async () => {
  const { page, show } = await openPage(worlds['two projects, one down']);
  await expect.poll(() => page.locator('html').getAttribute('data-live')).toBe('on');
  const focused = (): Promise<string> =>
    page.evaluate<string>(
      'document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.textContent.trim()',
    );
  const press = async (times: number): Promise<string[]> => {
    const order: string[] = [];
    for (let presses = 0; presses < times; presses += 1) {
      await page.keyboard.press('Tab');
      order.push(await focused());
    }
    return order;
  };
  // Each reason leads to the part of the page that shows more of it.
  expect(await press(6)).toEqual(['Skip to the details', 'analytics-mirror', 'staging', 'staging', 'to-p1', 'to-p0']);
  show(worlds.fresh);
  await page.goto(page.url());
  await expect.poll(() => page.locator('html').getAttribute('data-live')).toBe('on');
  expect(await press(12)).toEqual([
    'Skip to the details',
    'analytics-mirror',
    'runs-list-summary',
    'certificates-summary',
    'pass-persons-full-summary',
    'pass-persons-head-summary',
    'pass-recordings-full-summary',
    'pass-playlists-full-summary',
    'Rows and requests by week',
    'Current snapshots',
    'ledger-fold-summary',
    'schedule-fold-summary',
  ]);
  await page.locator('#pass-persons-full-summary').focus();
  await page.keyboard.press('Enter');
  expect(await page.locator('#pass-persons-full').getAttribute('open')).not.toBeNull();
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
});

it('a click leads from the answer to a project, and another to the evidence', async () => {
  const { page } = await openPage(worlds['two projects']);
  await page.locator('#to-p1').click();
  await expect.poll(() => page.url()).toMatch(/\/project\/staging/);
  await page.locator('#pass-persons-full-summary').click();
  expect(await page.locator('#pass-persons-full').textContent()).toContain('could not be joined');
});

it('a click on a reason leads to the part of the project that shows more of it', async () => {
  const { page } = await openPage(worlds['two projects, one down']);
  await page.locator('#todo a').first().click();
  await expect.poll(() => page.url()).toMatch(/\/project\/staging#schedule$/);
  expect(await page.locator('#schedule').textContent()).toContain('unreachable');
  expect(await page.locator('#freshness .held code').first().textContent()).toBe(
    'analytics-mirror --project staging reconcile --approve p-81c2',
  );
});

it('on a phone every cell of a table can be read', async () => {
  const { page } = await openPage(worlds.fresh, looks['dark phone']);
  const cut = await page.evaluate<string[]>(
    '[...document.querySelectorAll(".table")].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.getAttribute("aria-label"))',
  );
  expect(cut).toEqual([]);
});
