import { z } from 'zod';
import { alertFormats } from './alert-kinds.ts';
import { httpUrlProblem, postgresUrlProblem } from './addresses.ts';
import { ConsumerName, MachineName } from '../contract/names.ts';
import { namingKinds } from '../contract/given-identifier.ts';
import { compileCron } from './cron.ts';
import { datasets, mirroredDatasets } from '../contract/datasets.ts';
import { logLevels } from './log-levels.ts';

/** The jobs that the worker runs by itself, in the order in which jobs run that are due at the same moment. */
export const scheduledJobs = [
  'reconcile',
  ...mirroredDatasets.map((dataset) => datasets[dataset].fullJob),
  'head',
  'export',
  'delta',
  'checkpoint',
  'anchor',
  'drill',
] as const;
export type ScheduledJob = (typeof scheduledJobs)[number];

const baseUrl = z.string().superRefine((value, context) => {
  const refuse = (message: string): void => context.addIssue({ code: 'custom', message });
  const problem = httpUrlProblem(value);
  if (problem !== null) return refuse(problem);
  const url = new URL(value);
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return refuse('must end after the host and port; the path belongs in service.pathPrefix');
});

const databaseUrl = z.string().superRefine((value, context) => {
  const isKeptSecret = !URL.canParse(value) || new URL(value).password === '';
  const problem = isKeptSecret
    ? postgresUrlProblem(value)
    : 'must not hold a password; put the whole address into MIRROR_CLUSTER_DATABASE_FILE';
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

const outsideUrl = z.string().superRefine((value, context) => {
  const problem = httpUrlProblem(value);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

/** An authority or a witness outside that anchors the ledger's checkpoints. */
const anchor = z.union(
  [
    z.strictObject({ timeStampAuthority: outsideUrl, certificates: z.string().min(1) }),
    z.strictObject({ witness: outsideUrl, key: z.string().min(1) }),
  ],
  'has `timeStampAuthority` and `certificates`, or `witness` and `key`; the address begins with https://',
);

/** An Ed25519 key that confirms what is signed. */
const publicKey = z.string().regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, 'is an Ed25519 key: 32 bytes in base64');

/** A program that signs, and the key that confirms what it signs: 32 bytes, in base64. */
const signer = z.strictObject({ command: z.array(z.string().min(1)).min(1), publicKey });

const cron = z
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
const statedText = z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u, 'must be one line of at most 200 characters');

const count = z.int().min(1);
// Node's timers cannot wait longer than this: they would fire at once.
const timerMsMax = 2 ** 31 - 1;
const durationMs = z.int().min(1).max(timerMsMax);
const limitWindow = z.strictObject({
  requests: count,
  perSeconds: z
    .number()
    .positive()
    .max(timerMsMax / 1000),
});
const limitWindows = z.array(limitWindow);
const overlap = z.union([z.literal('auto'), z.int().min(0)]);
/** The most rows of a page. */
export const pageSizeMax = 10_000;
const list = z.strictObject({ pageSize: count.max(pageSizeMax), overlap });

/** Refuses pages of which fewer than half of the rows would be new: walking a list would take too many requests. */
function checkOverlap({ pageSize, overlap: shared }: z.output<typeof list>, context: z.RefinementCtx): void {
  // The smallest overlap that `auto` chooses. It matters for pages of a few rows only.
  const rows = shared === 'auto' ? 5 : shared;
  if (rows * 2 <= pageSize || pageSize < 1) return;
  const path = shared === 'auto' ? 'pageSize' : 'overlap';
  const message = `pages of ${pageSize} rows cannot share ${rows}: at least every other row has to be new`;
  context.addIssue({ code: 'custom', path: [path], message });
}

/** Refuses to learn a window that the budget does not have, or one that holds less than it has. */
function checkLearning(
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

/**
 * A property of persons that becomes a column of its own: a key, as a column of strings, or a key or a path between dots with
 * the name and the type of its column.
 */
export const Promotion = z.union(
  [
    z.string().min(1),
    z.strictObject({
      property: z.string().min(1),
      as: z.string().min(1).optional(),
      type: z.enum(['string', 'int64', 'double', 'boolean', 'timestamp', 'json']).default('string'),
    }),
  ],
  'is a property, or has `property`, and `as` and `type` (string, int64, double, boolean, timestamp, json) if you want',
);
export type Promotion = z.infer<typeof Promotion>;

/** A property of persons that is not published: left out, or replaced by its hash. */
export const Mask = z.union(
  [z.string().min(1), z.strictObject({ property: z.string().min(1), how: z.literal('hash') })],
  'is a property to leave out, or has `property` and `how: hash`',
);
export type Mask = z.infer<typeof Mask>;

/** The property that a promotion or a mask names: a key, or of a promotion a path of keys between dots. */
export function propertyOf(named: Promotion | Mask): string {
  return typeof named === 'string' ? named : named.property;
}

const bucketPlace = z
  .string()
  .regex(
    /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w=-][\w.=-]*)*\/?$/,
    'must look like s3://bucket/prefix, the prefix of letters, digits, and . _ = - between slashes',
  )
  .transform((location) => location.replace(/\/$/, ''));
const bucketReach = z.strictObject({
  endpoint: outsideUrl.nullable(),
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'is the name of a region, such as eu-central-1')
    .nullable(),
  forcePathStyle: z.boolean(),
});

/** Who may send requests to the intake. Its keys stand here as their SHA-256 only: they are random, and cannot be found by that. */
export const Sender = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,30}$/, 'is a name of small letters, digits and -, such as privacy-desk'),
  keys: z
    .array(z.string().regex(/^[0-9a-f]{64}$/, 'is the SHA-256 of a key: 64 hex digits'))
    .max(2)
    .default([]),
  agent: z
    .strictObject({ id: z.string().regex(/^[\w.-]{1,200}$/), verifyKey: publicKey })
    .nullable()
    .default(null),
  kinds: z.array(z.enum(namingKinds)).min(1),
  perHour: count.max(1_000_000).default(100),
  outcome: z.boolean().default(false),
  project: z.string().nullable().default(null),
  callback: z
    .strictObject({ url: outsideUrl, secretFile: z.string().min(1) })
    .nullable()
    .default(null),
});
export type Sender = z.infer<typeof Sender>;

function haveOwnKeys(senders: readonly Sender[]): boolean {
  const keys = senders.flatMap(({ keys: own, agent }) => [...own, ...(agent ? [agent.id] : [])]);
  return new Set(keys).size === keys.length;
}

/** Every setting, checked and complete. `config/default.yaml` explains each one beside its default. */
export const Settings = z.strictObject({
  dataDir: z
    .string()
    .min(1)
    .refine((path) => !/^~(?:\/|$)/.test(path), {
      error: 'begins with ~, which only a shell replaces; write the whole path',
    }),
  service: z.strictObject({
    baseUrl: baseUrl.nullable(),
    movedFrom: baseUrl.nullable(),
    projectId: z
      .union([
        z
          .string()
          .regex(
            /^[\w-]+$/,
            'is the id of a project, such as the number after /project/ in the address of its pages; `init` finds it by the name',
          ),
        z.int().transform(String),
      ])
      .nullable(),
    pathPrefix: z.string().regex(/^(\/[\w.-]+)+$/, 'must look like /api/environments'),
    totalTimeoutMs: durationMs,
    // The longest string that this runtime can hold.
    bodyBytesMax: count.max(2 ** 29 - 24),
    // SQLite's JSON functions refuse deeper nesting.
    jsonDepthMax: count.max(1000),
  }),
  retry: z.strictObject({
    attemptsMax: count,
    totalMs: durationMs,
    delayBaseMs: durationMs,
    delayMaxMs: durationMs,
    retryAfterMaxMs: durationMs,
  }),
  budget: z
    .strictObject({
      windows: limitWindows,
      learnUpTo: limitWindow.extend({ requests: count.max(100_000) }).nullable(),
      concurrency: count.max(64),
      recordings: z.strictObject({ windows: limitWindows }),
    })
    .superRefine(checkLearning),
  cluster: z.strictObject({
    database: databaseUrl.nullable(),
    machine: MachineName.nullable(),
    storage: bucketPlace.nullable(),
    s3: bucketReach,
    commitMinutes: z.number().min(0),
  }),
  persons: list.superRefine(checkOverlap),
  recordings: list
    .extend({
      retentionDays: z.number().positive().nullable(),
      query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    })
    .superRefine(checkOverlap),
  deletions: z.strictObject({
    maxShare: z.number().min(0).max(1),
    maxCount: z.int().min(0),
    confirmations: count,
    confirmAfterSeconds: z.number().min(0),
    collectHours: z.number().min(0),
  }),
  playlists: z.strictObject({ shortIds: z.array(z.union([z.string().min(1), z.int().transform(String)])) }),
  sync: z.strictObject({ headUnchangedRows: count, windowsMax: count }),
  export: z.strictObject({
    partRows: count,
    keep: count,
    deltasMax: z.int().min(0),
    promote: z.array(Promotion),
    properties: z.enum(['all', 'listed']),
    mask: z.array(Mask),
    destination: bucketPlace.nullable(),
    s3: bucketReach,
    consumers: z
      .array(ConsumerName)
      .max(100)
      .refine((names) => new Set(names).size === names.length, 'names a consumer twice'),
    iceberg: z.boolean(),
    publicRoot: z
      .string()
      .regex(/^\P{Cc}+$/u)
      .nullable(),
    catalog: z
      .strictObject({
        uri: outsideUrl.nullable(),
        warehouse: z.string().min(1).nullable(),
        namespace: z.string().regex(/^[\w-]+(\.[\w-]+)*$/, 'must look like analytics or lake.analytics'),
        tokenFile: z.string().min(1).nullable(),
        clientFile: z.string().min(1).nullable(),
        tokenUri: outsideUrl.nullable(),
        scope: z.string().min(1).nullable(),
      })
      .refine(
        ({ tokenFile, clientFile }) => tokenFile === null || clientFile === null,
        'has either tokenFile or clientFile',
      ),
  }),
  erasure: z.strictObject({
    deleteEvents: z.boolean(),
    deleteRecordings: z.enum(['auto', 'never']),
    dueDays: count,
    maxRequestDays: count,
    maxBatch: count,
    feedRetentionDays: count,
  }),
  audit: z.strictObject({
    controller: z.strictObject({ name: statedText.nullable(), contact: statedText.nullable() }),
    backupDays: count.nullable(),
    anchors: z.array(anchor),
    signer: signer.nullable(),
    nextSigner: signer.nullable(),
  }),
  schedule: z.strictObject(
    Object.fromEntries(scheduledJobs.map((job) => [job, cron])) as Record<ScheduledJob, typeof cron>,
  ),
  run: z.strictObject({
    drainSeconds: z
      .number()
      .min(0)
      .max(timerMsMax / 1000),
    projectsAtOnce: count,
  }),
  query: z.strictObject({ secondsMax: z.number().positive(), temporaryBytesMax: z.int().min(0) }),
  alerts: z.strictObject({
    diskFreeBytesMin: z.int().min(0),
    acknowledgeDays: z.int().min(1).max(3650),
    format: z.enum(alertFormats),
  }),
  status: z.strictObject({
    host: z.string().min(1),
    port: z.int().min(0).max(65_535),
    allowedHosts: z.array(z.string().min(1)),
  }),
  intake: z.strictObject({
    host: z.string().min(1),
    port: z.int().min(0).max(65_535).nullable(),
    businessId: z.string().min(1).nullable(),
    senders: z
      .array(Sender.refine(({ keys, agent }) => keys.length > 0 !== (agent !== null), 'has either `keys` or `agent`'))
      .max(10_000)
      .refine((senders) => new Set(senders.map(({ name }) => name)).size === senders.length, 'names a sender twice')
      .refine(haveOwnKeys, 'two senders have one key, or are one agent'),
  }),
  log: z.strictObject({ level: z.enum(logLevels) }),
});
export type Settings = z.infer<typeof Settings>;

/** When each job starts. Without configured playlists and anchors, their jobs have nothing to do and so no times. */
export function scheduleOf({
  schedule,
  playlists,
  audit,
}: Pick<Settings, 'schedule' | 'playlists' | 'audit'>): Settings['schedule'] {
  return {
    ...schedule,
    playlists: playlists.shortIds.length > 0 ? schedule.playlists : null,
    anchor: audit.anchors.length > 0 ? schedule.anchor : null,
  };
}
