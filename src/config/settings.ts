import { z } from 'zod';
import { alertFormats } from './alert-kinds.ts';
import { ConsumerName, MachineName, ReaderTable } from '../contract/names.ts';
import { haveOwnKeys, Sender } from './sender.ts';
import { datasets, mirroredDatasets, type PagedDataset } from '../contract/datasets.ts';
import { logLevels } from './log-levels.ts';
import {
  anchor,
  baseUrl,
  bucketPlace,
  bucketReach,
  checkLearning,
  checkOverlap,
  count,
  cron,
  databaseUrl,
  days,
  daysMax,
  durationMs,
  limitWindow,
  limitWindows,
  list,
  outsideUrl,
  signer,
  sshKey,
  statedText,
  timerMsMax,
} from './setting-kinds.ts';

/** The jobs that the worker runs by itself, in the order in which jobs run that are due at the same moment. */
export const scheduledJobs = [
  'reconcile',
  ...mirroredDatasets.map((dataset) => datasets[dataset].fullJob),
  'head',
  'export',
  'delta',
  'load',
  'checkpoint',
  'anchor',
  'drill',
] as const;
export type ScheduledJob = (typeof scheduledJobs)[number];

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

/** A consumer that gets the fence under a key of its own; the SSH key that signs its reports; and its tables that can hold people. */
const FencedConsumer = z.strictObject({
  consumer: ConsumerName,
  signer: sshKey.nullable().default(null),
  tables: z.array(ReaderTable).max(100).default([]),
});

/** The property that a promotion or a mask names: a key, or of a promotion a path of keys between dots. */
export function propertyOf(named: Promotion | Mask): string {
  return typeof named === 'string' ? named : named.property;
}

/** Every setting, checked and complete. `config/default.yaml` explains each one beside its default. */
export const Settings = z.strictObject({
  dataDir: z
    .string()
    .min(1)
    .refine((path) => !/^~(?:\/|$)/.test(path), {
      error: 'begins with ~, which only a shell replaces; write the whole path',
    })
    // With the newline of a mounted file or a block of YAML, it would be another folder, whose mirror knows of no erasure.
    .refine((path) => !/\p{Cc}/u.test(path), { error: 'holds a newline or another control character' }),
  service: z.strictObject({
    baseUrl: baseUrl.nullable(),
    movedFrom: baseUrl.nullable(),
    projectId: z
      .union([
        z
          .string()
          .regex(
            /^[\w-]{1,200}$/,
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
      retentionDays: z.number().positive().max(daysMax).nullable(),
      query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    })
    .superRefine(checkOverlap),
  deletions: z.strictObject({
    maxShare: z.number().min(0).max(1),
    maxCount: z.int().min(0),
    confirmations: count,
    confirmAfterSeconds: z
      .number()
      .min(0)
      .max(daysMax * 86_400),
    collectHours: z
      .number()
      .min(0)
      .max(daysMax * 24),
  }),
  playlists: z.strictObject({ shortIds: z.array(z.union([z.string().min(1), z.int().transform(String)])) }),
  sync: z.strictObject({ headUnchangedRows: count, windowsMax: count }),
  export: z
    .strictObject({
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
      fence: z
        .array(FencedConsumer)
        .max(100)
        .refine((all) => new Set(all.map(({ consumer }) => consumer)).size === all.length, 'names a consumer twice'),
      load: z.strictObject({
        into: z.string().min(1).nullable(),
        schema: z.string().min(1),
        consumer: ConsumerName.nullable(),
        passwordFile: z.string().min(1).nullable(),
      }),
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
          sigv4: z.string().min(1).nullable(),
        })
        .refine(
          ({ tokenFile, clientFile, sigv4 }) => [tokenFile, clientFile, sigv4].filter(Boolean).length <= 1,
          'has one of tokenFile, clientFile and sigv4',
        ),
    })
    .refine(({ load, consumers }) => load.consumer === null || consumers.includes(load.consumer), {
      path: ['load', 'consumer'],
      error: 'is no consumer that export.consumers names',
    })
    .refine(({ fence, consumers }) => fence.every(({ consumer }) => consumers.includes(consumer)), {
      path: ['fence'],
      error: 'names a consumer that export.consumers does not name',
    }),
  erasure: z.strictObject({
    deleteEvents: z.boolean(),
    deleteRecordings: z.enum(['auto', 'never']),
    dueDays: days,
    maxRequestDays: days,
    maxBatch: count,
    feedRetentionDays: days,
  }),
  audit: z.strictObject({
    controller: z.strictObject({ name: statedText.nullable(), contact: statedText.nullable() }),
    backupDays: days.nullable(),
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

/** When each job starts. Without configured playlists, warehouse and anchors, their jobs have nothing to do and so no times. */
export function scheduleOf({
  schedule,
  playlists,
  export: { load },
  audit,
}: Pick<Settings, 'schedule' | 'playlists' | 'export' | 'audit'>): Settings['schedule'] {
  return {
    ...schedule,
    load: load.into === null ? null : schedule.load,
    playlists: playlists.shortIds.length > 0 ? schedule.playlists : null,
    anchor: audit.anchors.length > 0 ? schedule.anchor : null,
  };
}

/** What the settings add to the query of a list. */
export function extraQueryOf({ recordings }: ListQueries, dataset: PagedDataset): ListQueries['recordings']['query'] {
  return dataset === 'recordings' ? recordings.query : {};
}

/** The settings of which `extraQueryOf` tells. */
export type ListQueries = { recordings: Pick<Settings['recordings'], 'query'> };
