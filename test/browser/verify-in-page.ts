import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** What the page of the verifier shows: `kind` is its colour, `lines` what verify.mjs prints, `reason` why there is no verdict. */
export type Said = { kind: string; lines: string; reason: string };

/** The verdict that the page comes to. */
export async function said(page: Page): Promise<Said> {
  await expect.poll(() => page.locator('#said').getAttribute('class')).not.toBe('');
  const kind = (await page.locator('#said').getAttribute('class')) ?? '';
  const printed = page.locator('#details pre');
  const lines = (await printed.count()) === 0 ? '' : ((await printed.textContent()) ?? '');
  const text = (await page.locator('#said').textContent()) ?? '';
  const [, reason = ''] = /It could not be checked: (.*)\.$/su.exec(text) ?? [];
  return { kind, lines, reason };
}

/** Asks two workers of the page's own script, which is quicker than to choose so many files. */
const changeBytes = `async ({ text, keys, nth }) => {
  const source = URL.createObjectURL(new Blob([document.querySelector('body > script').textContent]));
  const bytes = new TextEncoder().encode(text);
  const judge = async (worker, file) => {
    const files = new Map([['checked/b', file], ['kept/k', new File([keys], 'k')]]);
    const answer = new Promise((found, failed) => {
      worker.onmessage = ({ data }) => data.read ?? found(data.code);
      worker.onerror = ({ message }) => failed(new Error(message));
    });
    worker.postMessage({ args: ['checked/b', '--public-key', 'kept/k'], files });
    return answer;
  };
  const codes = {};
  let at = 0;
  const work = async () => {
    const worker = new Worker(source);
    if ((await judge(worker, new File([bytes], 'b'))) !== 0) throw new Error('the bundle is not good');
    while (at < bytes.length) {
      const changed = bytes.slice();
      // A letter's case, or another digit of base64 or of a number.
      changed[at] ^= at % 2 === 0 ? 1 : 0x20;
      const place = at;
      at += nth;
      const code = await judge(worker, new File([changed], 'b'));
      (codes[code] ??= []).push(place);
    }
    worker.terminate();
  };
  await Promise.all([work(), work()]);
  return codes;
}`;

/** The places of a bundle, by the exit code to which a change of the byte there leads. Each nth is changed. */
export function changedBytes(
  page: Page,
  task: { text: string; keys: string; nth: number },
): Promise<Record<string, number[]>> {
  return page.evaluate<Record<string, number[]>>(`(${changeBytes})(${JSON.stringify(task)})`);
}
