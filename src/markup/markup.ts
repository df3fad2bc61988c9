import type { html } from 'hono/html';

/** A piece of a page. Whatever is put into one is escaped, unless it is one itself. */
export type Markup = ReturnType<typeof html>;

/** The text of a page. Throws where a piece of it waits for something. */
export function textOf(markup: Markup): string {
  if (markup instanceof Promise) throw new Error('a page that waits for something');
  return String(markup);
}
