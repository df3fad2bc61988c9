import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Settings } from '../config/settings.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { sha256 } from '../core/digest.ts';
import { readWholeFile, wholeFileBytesMax } from '../core/folder.ts';

/**
 * What a sender was told: the requests that it was told to be received and not to be closed, and what was published; null before the
 * first look. `noted`: its requests of which it is not told yet. `refusedSince`: since when each look has met a call that was not accepted.
 */
const Told = z.strictObject({
  open: z.array(z.string()),
  published: z.string().nullable(),
  noted: z.array(z.string()),
  refusedSince: z.string().nullable().default(null),
});
export type Told = z.infer<typeof Told>;
/** By the SHA-256 of each sender's name: the name itself can be a text of a person who is erased. */
const AllTold = z.record(z.string(), Told);

/** The file of a data folder that keeps what senders were told. */
export function callbacksPath(dataDir: string): string {
  return join(dataDir, 'callbacks.json');
}

/** What the senders of a project were told; empty where there is no file of it. Throws `storage` for a damaged one. */
export function readAllTold(dataDir: string): z.infer<typeof AllTold> {
  const path = callbacksPath(dataDir);
  if (!existsSync(path)) return {};
  // A sender can have very many open requests.
  const text = readWholeFile(path, 4 * wholeFileBytesMax).toString();
  try {
    return AllTold.parse(JSON.parse(text));
  } catch (cause) {
    throw new AppError(`${path} is damaged`, {
      code: 'storage',
      hint: 'restore callbacks.json from a backup, or remove it: then senders are not called back about what they sent before',
      cause,
    });
  }
}

/** How many senders of a project have not been called back since a time (ISO 8601 UTC): they refuse it, or the file cannot be read. */
export function countUncalled(
  { name, dataDir, intake }: Pick<Settings, 'dataDir' | 'intake'> & { name: string },
  since: string,
): number {
  const called = intake.port === null ? [] : intake.senders.filter(({ callback }) => callback !== null);
  const own = called.filter(({ project }) => project === null || project === name);
  try {
    const all = own.length === 0 ? {} : readAllTold(dataDir);
    return own.filter((sender) => (all[sha256(sender.name)]?.refusedSince ?? since) < since).length;
  } catch (error) {
    if (error instanceof AppError || systemCode(error) !== undefined) return own.length;
    throw error;
  }
}
