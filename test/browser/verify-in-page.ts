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

/** The files of a task by their paths, in base64, and the arguments. */
export type Task = { args: string[]; files: Record<string, string> };

const judgeTasks = `async (tasks) => {
  const source = URL.createObjectURL(new Blob([document.querySelector('body > script').textContent]));
  const worker = new Worker(source);
  const said = [];
  for (const { args, files } of tasks) {
    const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const answer = new Promise((found, failed) => {
      worker.onmessage = ({ data }) => data.read ?? found(data);
      worker.onerror = ({ message }) => failed(new Error(message));
    });
    const chosen = Object.entries(files).map(([path, text]) => [path, new File([bytesOf(text)], path.split('/').pop())]);
    worker.postMessage({ args, files: new Map(chosen) });
    const { code, lines, reason } = await answer;
    said.push({ code, text: reason ?? lines.join('\\n') });
  }
  worker.terminate();
  return said;
}`;

/** What the page's worker says of tasks, one after the other: the exit code, and the lines or the reason. */
export function judged(page: Page, tasks: readonly Task[]): Promise<{ code: number; text: string }[]> {
  return page.evaluate<{ code: number; text: string }[]>(`(${judgeTasks})(${JSON.stringify(tasks)})`);
}
