import { z } from 'zod';
import { httpUrlProblem, postgresUrlProblem } from './addresses.ts';
import { compileCron } from './cron.ts';

// What values of settings are made of: each kind with the sentence that refuses what is none.

/** A text, refused with what `problemOf` says is wrong with it; null is nothing. */
const textWithout = (problemOf: (value: string) => string | null): z.ZodString =>
  z.string().superRefine((value, context) => {
    const message = problemOf(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

/** What certificates state as it is: `verify.mjs` refuses any other. */
const statedLine = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;
const notStatable = 'must be one line of at most 200 characters, without a newline at its end';

/** The address of the service: scheme, host and port. A URL is read without the newlines and signs of no width in its text. */
export const baseUrl = textWithout((value) => {
  const problem = httpUrlProblem(value);
  if (problem !== null) return problem;
  const { pathname, search, hash } = new URL(value);
  const isBare = pathname === '/' && search === '' && hash === '';
  if (!isBare) return 'must end after the host and port; the path belongs in service.pathPrefix';
  return statedLine.test(value) ? null : notStatable;
});

/** The address of a Postgres, without a password. */
export const databaseUrl = textWithout((value) =>
  URL.canParse(value) && new URL(value).password !== ''
    ? 'must not hold a password; put the whole address into MIRROR_CLUSTER_DATABASE_FILE'
    : postgresUrlProblem(value),
);

/** An address outside, by HTTPS, or on this machine. */
export const outsideUrl = textWithout(httpUrlProblem);

/** An authority or a witness outside that anchors the ledger's checkpoints. */
export const anchor = z.union(
  [
    z.strictObject({ timeStampAuthority: outsideUrl, certificates: z.string().min(1) }),
    z.strictObject({ witness: outsideUrl, key: z.string().min(1) }),
  ],
  'has `timeStampAuthority` and `certificates`, or `witness` and `key`; the address begins with https://',
);

/** An Ed25519 key that confirms what is signed. */
export const publicKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, 'is an Ed25519 key: 32 bytes in base64');

/** A program that signs, and the key that confirms what it signs: 32 bytes, in base64. */
export const signer = z.strictObject({ command: z.array(z.string().min(1)).min(1), publicKey });

/** An SSH key as a file of public keys has it, of Ed25519. */
export const sshKey = z
  .string()
  .regex(
    /^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}( .*)?$/,
    'is an SSH key of Ed25519: ssh-ed25519 AAAA…',
  );

/** A cron expression; null, and an empty one, for none. */
export const cron = z
  .string()
  .nullable()
  .transform((expression) => (expression === null || expression.trim() === '' ? null : expression.trim()))
  .superRefine((expression, context) => {
    if (expression === null) return;
    try {
      compileCron(expression);
    } catch (error) {
      const what = error instanceof Error ? error.message : 'it cannot be read';
      context.addIssue({ code: 'custom', message: `is not a cron expression: ${what}` });
    }
  });

/** A line that certificates state as it is. */
export const statedText = z.string().regex(statedLine, notStatable);

/** A number of things: one at least. */
export const count = z.int().min(1);
/** So many days are a hundred years: a time further away than that may be one that no record can spell. */
export const daysMax = 36_500;
/** A number of days. */
export const days = count.max(daysMax);
/** Node's timers cannot wait longer than this: they would fire at once. */
export const timerMsMax = 2 ** 31 - 1;
/** A time in milliseconds that Node's timers can wait. */
export const durationMs = z.int().min(1).max(timerMsMax);
/** So many requests in so many seconds. */
export const limitWindow = z.strictObject({
  requests: count,
  perSeconds: z
    .number()
    .positive()
    .max(timerMsMax / 1000),
});
/** So many requests in so many seconds; several windows hold together. */
export const limitWindows = z.array(limitWindow);
const overlap = z.union([z.literal('auto'), z.int().min(0)], { error: 'has to be auto, or a number of rows' });
/** The most rows of a page. */
export const pageSizeMax = 10_000;
/** How a list is paged: rows of a page, and how many of them two pages share. */
export const list = z.strictObject({ pageSize: count.max(pageSizeMax), overlap });

/** Refuses pages of which fewer than half of the rows would be new: walking a list would take too many requests. */
export function checkOverlap({ pageSize, overlap: shared }: z.output<typeof list>, context: z.RefinementCtx): void {
  // The smallest overlap that `auto` chooses. It matters for pages of a few rows only.
  const rows = shared === 'auto' ? 5 : shared;
  if (rows * 2 <= pageSize || pageSize < 1) return;
  const path = shared === 'auto' ? 'pageSize' : 'overlap';
  const message = `pages of ${pageSize} rows cannot share ${rows}: at least every other row has to be new`;
  context.addIssue({ code: 'custom', path: [path], message });
}

/** Refuses to learn a window that the budget does not have, or one that holds less than it has. */
export function checkLearning(
  { windows, learnUpTo }: { windows: z.output<typeof limitWindows>; learnUpTo: z.output<typeof limitWindow> | null },
  context: z.RefinementCtx,
): void {
  // Without any window nothing is limited, and nothing can be raised.
  if (learnUpTo === null || windows.length === 0) return;
  const window = windows.find(({ perSeconds }) => perSeconds === learnUpTo.perSeconds);
  if (window && window.requests <= learnUpTo.requests) return;
  const message = window
    ? `holds fewer requests than the window of ${learnUpTo.perSeconds} s in budget.windows, which it is to raise`
    : `budget.windows has no window of ${learnUpTo.perSeconds} s that it could raise`;
  context.addIssue({ code: 'custom', path: ['learnUpTo'], message });
}

/** A place in a bucket. */
export const bucketPlace = z
  .string()
  .regex(
    /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w=-][\w.=-]*)*\/?$/,
    'must look like s3://bucket/prefix, the prefix of letters, digits, and . _ = - between slashes',
  )
  .transform((location) => location.replace(/\/$/, ''));
/** How a bucket is reached. */
export const bucketReach = z.strictObject({
  endpoint: outsideUrl.nullable(),
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'is the name of a region, such as eu-central-1')
    .nullable(),
  forcePathStyle: z.boolean(),
});
