import { isUtf8 } from 'node:buffer';
import { AppError } from '../core/errors.ts';

/** What some servers write before a text in UTF-8. */
const byteOrderMark = Buffer.from('\uFEFF');

/** The body of an answer: JSON as `readJson` reads it, anything else as text; undefined where there is none. Throws its `AppError`. */
export function readBody(contentType: string, sent: Buffer, readJson: (bytes: Buffer) => unknown): unknown {
  const isMarked = sent.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  const bytes = isMarked ? sent.subarray(byteOrderMark.length) : sent;
  if (bytes.length === 0) return undefined;
  // What is not UTF-8 would be read with other characters in their place: two distinct ids could become one.
  if (contentType.includes('json') && isUtf8(bytes)) {
    try {
      return readJson(bytes);
    } catch (error) {
      if (error instanceof AppError) throw error;
    }
  }
  return bytes.toString('utf8');
}

const commonTypes = 'text/html text/plain text/csv text/xml application/xml application/octet-stream';

/** What an answer is called in an error. The service's own words may hold anything, so only common types are named. */
export function kindOfBody(contentType: string): string {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === '') return 'no body';
  if (type.includes('json')) return 'text that is cut off, malformed or not UTF-8';
  return commonTypes.split(' ').includes(type) ? type : 'a body of another type';
}
