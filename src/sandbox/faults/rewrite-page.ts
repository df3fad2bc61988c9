import { parseExactJson, stringifyExactJson } from '../../core/exact-json.ts';
import type { Fault } from './fault-plan.ts';

type PageFault = Extract<Fault, 'bad-row' | 'next-stuck' | 'next-back' | 'next-elsewhere'>;
type Page = { results: unknown[]; next?: string | null; count?: number; has_next?: boolean };
type Asked = { offset: number };

const rewriters: Record<PageFault, (page: Page, asked: Asked) => Page> = {
  'bad-row': (page) => ({
    ...page,
    results: page.results.map((row, index) => (index === 0 ? wrongTypes(row) : row)),
  }),
  'next-stuck': (page, { offset }) => withNext(page, (next) => next.searchParams.set('offset', `${offset}`)),
  'next-back': (page, { offset }) =>
    withNext(page, (next) => next.searchParams.set('offset', `${Math.max(0, offset - 1)}`)),
  'next-elsewhere': (page) =>
    withNext(page, (next) => {
      next.protocol = 'http:';
      next.host = 'elsewhere.example.invalid';
    }),
};

/** A page's JSON text as a fault leaves it; any other fault leaves it as it is. */
export function rewritePage(fault: Fault, text: string, asked: Asked): string {
  if (!isPageFault(fault)) return text;
  return stringifyExactJson(rewriters[fault](parseExactJson(text) as Page, asked));
}

/** The same page of a list that has no rows. */
export function emptyPage(text: string): string {
  const { count, has_next: hasNext, ...page } = parseExactJson(text) as Page;
  return JSON.stringify({
    ...(count !== undefined && { count: 0 }),
    ...page,
    ...(hasNext === undefined ? { next: null, previous: null } : { has_next: false }),
    results: [],
  });
}

function isPageFault(fault: Fault): fault is PageFault {
  return Object.hasOwn(rewriters, fault);
}

/** Keeps the row's key, so that whoever quarantines it can say which it was. */
function wrongTypes(row: unknown): unknown {
  return typeof row === 'object' && row !== null
    ? { ...row, name: ['not', 'text'], created_at: 17, start_time: 'yesterday', distinct_ids: { 0: 'x' } }
    : row;
}

function withNext(page: Page, change: (next: URL) => void): Page {
  if (typeof page.next !== 'string') return page;
  const next = new URL(page.next);
  change(next);
  return { ...page, next: next.href };
}
