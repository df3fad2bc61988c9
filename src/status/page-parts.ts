import { agoText, capital, minuteText } from '../core/words.ts';
import { html } from 'hono/html';
import type { Markup } from '../markup/markup.ts';
import type { Tone } from './verdict.ts';

/** A mark: a colour, and a shape that tells it apart without colour. */
export type Mark = Tone | 'plain';

const ring = html`<circle cx="12" cy="12" r="10" fill="none" stroke="currentColor" stroke-width="2.4" />`;

/** The shape of each mark. */
const shapes: Readonly<Record<Mark, Markup>> = {
  well: html`<circle cx="12" cy="12" r="11" fill="currentColor" /><path
      class="cut"
      d="m6.8 12.4 3.6 3.6 6.9-7.4"
      fill="none"
      stroke-width="2.4"
      stroke-linecap="round"
      stroke-linejoin="round"
    />`,
  new: html`${ring}<path
      d="M12 6.4V12l3.6 2.4"
      fill="none"
      stroke="currentColor"
      stroke-width="2.4"
      stroke-linecap="round"
      stroke-linejoin="round"
    />`,
  attention: html`<path
      d="M12 1.9 23 21.4H1Z"
      fill="currentColor"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linejoin="round"
    /><path class="cut" d="M12 9v5.4M12 17.6v.4" stroke-width="2.4" stroke-linecap="round" />`,
  broken: html`<path d="M7.4 1h9.2L23 7.4v9.2L16.6 23H7.4L1 16.6V7.4Z" fill="currentColor" /><path
      class="cut"
      d="m8.2 8.2 7.6 7.6m0-7.6-7.6 7.6"
      stroke-width="2.6"
      stroke-linecap="round"
    />`,
  plain: ring,
};

/** The icon of a mark. It stands beside words that say the same. */
export function icon(mark: Mark): Markup {
  return html`<svg class="icon t-${mark}" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    ${shapes[mark]}
  </svg>`;
}

/** A state in words, with its icon. */
export function badge(mark: Mark, text: string): Markup {
  return html`<span class="badge t-${mark}">${icon(mark)}${text}</span>`;
}

/** A time as its distance from now, unless in other words; the title holds the time itself. */
export function when(iso: string | null, now: string, textOf = agoText): Markup {
  if (iso === null) return html`never`;
  return html`<time datetime="${iso}" title="${minuteText(iso)}">${textOf(iso, now)}</time>`;
}

/** When a planned time will be: `in 3 min`; `now` for one that is past, because only another job delays it. */
export function nextText(iso: string, now: string): string {
  return iso <= now ? 'now' : agoText(iso, now);
}

/** A bar that is filled up to a share (0 to 1). */
export function meter(share: number, mark: Mark, label: string): Markup {
  const width = Math.min(100, Math.max(0, share * 100)).toFixed(1);
  return html`<svg class="meter" viewBox="0 0 100 1" preserveAspectRatio="none" role="img" aria-label="${label}">
    <rect class="rest" width="100" height="1" />
    <rect class="f-${mark}" width="${width}" height="1" />
  </svg>`;
}

/** A part of the page with its own heading. The script replaces it when it changes. */
export function part(id: string, title: string, content: Markup): Markup {
  return html`<section class="part" id="${id}" data-part>
    <h2>${title}</h2>
    ${content}
  </section>`;
}

/** A part of the page that is closed where all is well with it: a line then says how it is. */
export function foldedPart(
  id: string,
  title: string,
  { line, isOpen }: { line: Markup | string; isOpen: boolean },
  content: Markup,
): Markup {
  return html`<section class="part" id="${id}" data-part>
    <details class="fold" id="${id}-fold" data-as="${isOpen ? 'open' : 'closed'}" ${isOpen ? 'open' : ''}>
      <summary id="${id}-fold-summary">
        <h2>${title}</h2>
        <span class="small">${line}</span>
      </summary>
      ${content}
    </details>
  </section>`;
}

/** Names and numbers. */
export function figures(list: readonly (readonly [name: string, value: Markup | string])[]): Markup {
  return html`<dl class="figures">
    ${list.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Something to be said beside passes, as sentences, with the setting that helps. */
export function remarkText({ detail, fix }: { detail: string; fix?: string }): string {
  const told = `${capital(detail)}.`;
  return fix === undefined ? told : `${told} ${capital(fix)}.`;
}

/** A longer word may have to be broken on a phone. */
const unbrokenMax = 24;

/** A command or a setting. It breaks between words, and not at the hyphens of `analytics-mirror` and `--dry-run`. */
export function code(text: string): Markup {
  const isKept = (word: string): boolean => word.includes('-') && word.length <= unbrokenMax;
  const words = text.split(/(\s+)/).map((word) => (isKept(word) ? html`<span class="word">${word}</span>` : word));
  return html`<code>${words}</code>`;
}

/** How a command of this program begins in a page. */
export const commandStart = '<code><span class="word">analytics-mirror</span> ';

/** A text in which words between backticks become code. */
export function withCode(text: string): Markup {
  return html`${text.split('`').map((piece, index) => (index % 2 === 1 ? code(piece) : piece))}`;
}
