import { gzipSync } from 'node:zlib';
import { parseExactJson, stringifyExactJson } from '../../core/exact-json.ts';
import { jsonAnswer, Refusal, refusalAnswer, type Answer } from '../http/answer.ts';
import type { Fault, PlannedFault } from './fault-plan.ts';

type Make = (planned: Omit<PlannedFault, 'fault'>, nowMs: number) => Answer;

/** The answer that a fault gives instead of the service, which then does nothing; undefined if the fault gives none. */
export function answerInstead(planned: PlannedFault, nowMs: number): Answer | undefined {
  return answers[planned.fault]?.(planned, nowMs);
}

const answers: Partial<Record<Fault, Make>> = {
  '429': ({ isMild, random }, nowMs) => {
    const retryAfter = isMild ? random.pick(['0', '1', undefined]) : random.pick(retryAfterForms)(nowMs);
    const answer = refusalAnswer(new Refusal('throttled', 'Request was throttled.'));
    if (retryAfter !== undefined) answer.headers['Retry-After'] = retryAfter;
    return answer;
  },
  '500': () => jsonAnswer(500, serverError('error', 'A server error occurred.')),
  '502': () => page(502, 'Bad Gateway'),
  '503': () => page(503, 'Service Unavailable'),
  '504': () => page(504, 'Gateway Timeout'),
  '512': () => jsonAnswer(512, serverError('query_exceeded_limits', 'The query took too long.')),
  html: () => page(200, 'Log in'),
  empty: () => ({ status: 200, headers: { 'Content-Length': '0' }, body: '' }),
  garbage: () => jsonAnswer(200, '{"next":null,"previous":null,"results":[{"uuid":"0198'),
  huge: () => ({
    status: 200,
    headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
    body: hugeBody(),
  }),
  redirect: () => ({
    status: 302,
    headers: { Location: 'http://login.example.invalid/login?next=/', 'Content-Length': '0' },
    body: '',
  }),
  deep: () => jsonAnswer(500, serverError('error', 'Query exceeded its memory limit.')),
};

const retryAfterForms: readonly ((nowMs: number) => string | undefined)[] = [
  () => '1',
  (nowMs) => new Date(nowMs + 2000).toUTCString(),
  () => undefined,
  () => '1000000000',
];

function serverError(code: string, detail: string): string {
  return JSON.stringify({ type: 'server_error', code, detail, attr: null });
}

function page(status: number, title: string): Answer {
  const body = `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body };
}

const hugeMegabytes = 300;

/** One packed megabyte of spaces, over and over: gzip reads its members one after the other. */
function hugeBody(): Buffer {
  const member = gzipSync(Buffer.alloc(1024 * 1024, ' '));
  return Buffer.concat([
    gzipSync('{"next":null,"previous":null,"results":['),
    ...Array.from({ length: hugeMegabytes }, () => member),
    gzipSync(']}'),
  ]);
}

type PageFault = Extract<Fault, 'bad-row' | 'next-stuck' | 'next-back' | 'next-elsewhere'>;
type Page = { results: unknown[]; next?: string | null; count?: number; has_next?: boolean };
type Asked = { offset: number };

const rewriters: Record<PageFault, (page: Page, asked: Asked) => Page> = {
  'bad-row': (page) => ({ ...page, results: page.results.map((row, index) => (index === 0 ? wrongTypes(row) : row)) }),
  'next-stuck': (page, { offset }) => withNext(page, (next) => next.searchParams.set('offset', `${offset}`)),
  'next-back': (page, { offset }) =>
    withNext(page, (next) => next.searchParams.set('offset', `${Math.max(0, offset - 1)}`)),
  'next-elsewhere': (page) =>
    withNext(page, (next) => {
      next.protocol = 'http:';
      next.host = 'elsewhere.example.invalid';
    }),
};

/** A page's JSON text as a fault changes it. Faults that do not concern pages change nothing. */
export function rewritePage(fault: Fault, text: string, asked: Asked): string {
  if (!isPageFault(fault)) return text;
  return stringifyExactJson(rewriters[fault](parseExactJson(text) as Page, asked));
}

/** The same page as if the list had no rows. */
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

/** The row with wrong types. It keeps its key, so that a quarantine can name the row. */
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
