import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { verifyPage, verifyPagePath } from '../../config/verify-page.ts';

it('the page of the verifier is the one that is made of its sources: `node config/verify-page.ts` makes it', () => {
  expect(readFileSync(verifyPagePath, 'utf8') === verifyPage()).toBe(true);
});

it('the page of the verifier has one script and one style, and may load nothing', () => {
  const page = verifyPage();
  // One more stands in verify.mjs, as the text that it looks for in the page of a certificate.
  const elements = page
    .replace(`'<script type="application/json" id="bundle">'`, '')
    .match(/<\/?(?:script|style)\b[^>]*>/g);
  expect(elements).toEqual(['<style>', '</style>', '<script>', '</script>']);
  expect(page.match(/<meta http-equiv="Content-Security-Policy" content="([^"]*)"/)?.[1]).toMatch(
    /^default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'; worker-src blob:; base-uri 'none'; form-action 'none'$/,
  );
  expect(page).not.toMatch(
    /\b(?:src|href|on\w+)="|innerHTML|insertAdjacent|document\.write|\beval\b|new Function|fetch\(|XMLHttp/,
  );
});
