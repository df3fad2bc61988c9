import type { z } from 'zod';
import { parseExactJson } from '../../core/exact-json.ts';
import { Refusal } from './answer.ts';

/** The value as its schema reads it. Throws a 400 that names the first wrong parameter or field. */
export function checkInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path[0];
  throw new Refusal('invalidInput', issue?.message ?? 'Invalid.', field === undefined ? null : String(field));
}

const bodyBytesMax = 4 * 1024 * 1024;

/**
 * A request's JSON body, with every number exact. An empty body counts as `{}`. Throws a 400 for a body that is not
 * JSON or larger than 4 MiB.
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  const text = await readText(request);
  if (text.trim() === '') return {};
  try {
    const body = parseExactJson(text);
    // A value that nests too deeply to be written again could not be stored.
    JSON.stringify(body);
    return body;
  } catch {
    throw new Refusal('invalidInput', 'Malformed request: the body is not JSON, or nests too deeply.');
  }
}

async function readText(request: Request): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Refusal('invalidInput', `The body is larger than ${bodyBytesMax} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
