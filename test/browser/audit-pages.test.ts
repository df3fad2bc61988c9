import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { gatherReport } from '../../src/audit/report-data.ts';
import { reportPage } from '../../src/audit/report-page.ts';
import { archiveNowMs, writeArchive } from '../audit/archive-fixture.ts';
import { bundleOf } from '../audit/bundle-fixture.ts';
import { browser } from './open-page.ts';

const folder = mkdtempSync(join(tmpdir(), 'audit-pages-'));
/** Certificates: of an erasure, of a person who was gone at the service, and of one that was late; and a report of all. */
const certificates = [1, 4, 12].map((n) => `certificate-${n}`);

beforeAll(() => {
  const { db, settings } = writeArchive(folder, 60);
  for (const n of [1, 4, 12]) writeFileSync(join(folder, `certificate-${n}.html`), bundleOf(folder, n).page);
  const report = gatherReport({ db, settings, nowMs: archiveNowMs } as never);
  writeFileSync(join(folder, 'report.html'), reportPage(report, 'reports/certificates/'));
  db.close();
});

async function open(name: string, width: number): Promise<Page> {
  const context = await (await browser()).newContext({ viewport: { width, height: 900 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(pathToFileURL(join(folder, `${name}.html`)).href);
  return page;
}

it.each(certificates)('%s is printed on two sheets of A4, and begins with its summary', async (name) => {
  const page = await open(name, 1280);
  const pdf = await page.pdf({ format: 'A4', preferCSSPageSize: true, printBackground: true });
  expect(pdf.toString('latin1').match(/\/Type\s*\/Page[^s]/g)).toHaveLength(2);
  expect(await page.locator('header p').nth(1).textContent()).toMatch(/^Erased in our copy on \d{4}-\d\d-\d\d; .*\.$/);
});

it.each([...certificates, 'report'].flatMap((name) => [1280, 390].map((width) => [name, width] as const)))(
  '%s is cut nowhere at %i px',
  async (name, width) => {
    const page = await open(name, width);
    const cut = await page.evaluate<string[]>(`
      [document.documentElement, ...document.querySelectorAll('body, body *')]
        .filter((each) => each.clientWidth > 1 && each.scrollWidth > each.clientWidth + 1)
        .filter((each) => getComputedStyle(each).display !== 'inline')
        .map((each) => each.tagName + ' ' + each.className + ' ' + each.scrollWidth + ' in ' + each.clientWidth)`);
    expect(cut).toEqual([]);
  },
);
