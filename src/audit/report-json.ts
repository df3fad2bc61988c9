import { stringifyExactJson } from '../core/exact-json.ts';
import type { AuditReport } from './report-data.ts';

/** The report as JSON, in pieces: the text of many requests takes more memory than they do. */
export function* reportJson({ requests, ...rest }: AuditReport): Generator<string> {
  yield stringifyExactJson(rest, 2).slice(0, -'\n}'.length);
  let before = ',\n  "requests": [';
  for (const request of requests) {
    yield `${before}\n    ${stringifyExactJson(request, 2).replaceAll('\n', '\n    ')}`;
    before = ',';
  }
  yield requests.length > 0 ? '\n  ]\n}\n' : `${before}]\n}\n`;
}
