import { z } from 'zod';
import { isoToMicros } from '../core/time.ts';
import { readJson } from '../core/exact-json.ts';
import type { IdentifierKind } from './identity.ts';

/**
 * How a field is kept: the one word from which the mirror's SQL, the snapshots' columns and the tolerant reader
 * are derived. `time` is ISO 8601 text, `text_list` an array of strings, `json` any JSON value, `integer_id` an integer
 * that a live list may give as the uuid instead.
 */
export type FieldKind = 'text' | 'uuid' | 'integer' | 'integer_id' | 'real' | 'boolean' | 'time' | 'text_list' | 'json';

/**
 * What a field tells of a person: it is an identifier of a kind, or it holds personal texts (scans for an erased person
 * search for them), or it is declared to hold none. Numbers, times and booleans need no declaration.
 */
export type FieldRole = IdentifierKind | 'personal' | 'not personal';

const kinds = z.registry<{ kind: FieldKind; role?: FieldRole }>();

/** The kind of a resource's field, and what it tells of a person. Throws for a schema that is not a field of a resource. */
export function describeField(field: z.core.$ZodType): { kind: FieldKind; role?: FieldRole } {
  const entry = kinds.get(field);
  if (!entry) throw new Error('a resource field without a kind');
  return entry;
}

function as<T extends z.ZodType>(role: FieldRole, field: T): T {
  const declared = field.clone();
  kinds.add(declared, { ...describeField(field), role });
  return declared;
}
const personal = <T extends z.ZodType>(field: T): T => as('personal', field);
const notPersonal = <T extends z.ZodType>(field: T): T => as('not personal', field);

const text = z.string().register(kinds, { kind: 'text' });
const uuid = z.guid().register(kinds, { kind: 'uuid' });
const integer = z.int().register(kinds, { kind: 'integer' });
const integerId = z.int().register(kinds, { kind: 'integer_id' });
const decimal = z.number().register(kinds, { kind: 'real' });
const boolean = z.boolean().register(kinds, { kind: 'boolean' });
const textList = z.array(z.string()).register(kinds, { kind: 'text_list' });
const anyJson = z.unknown().register(kinds, { kind: 'json' });
const time = z
  .string()
  .refine((value) => isoToMicros(value) !== undefined, 'not an ISO 8601 date-time')
  .meta({ format: 'date-time' })
  .register(kinds, { kind: 'time' });

/** Section 2.1. */
export const Person = z.object({
  id: as('person_id', integerId),
  name: personal(text),
  distinct_ids: as('distinct_id', textList),
  properties: personal(anyJson),
  created_at: time,
  uuid: as('person_uuid', uuid),
});
export type Person = z.infer<typeof Person>;

/** Section 2.1, as embedded in a recording: the distinct ids are one string. */
export const RecordingPerson = Person.extend({ distinct_ids: text });

/** Section 2.5. */
export const Recording = z.object({
  id: as('recording_id', text),
  distinct_id: as('distinct_id', text),
  viewed: boolean,
  viewers: personal(textList),
  recording_duration: integer,
  active_seconds: integer,
  inactive_seconds: integer,
  start_time: time,
  end_time: time,
  click_count: integer,
  keypress_count: integer,
  mouse_activity_count: integer,
  console_log_count: integer,
  console_warn_count: integer,
  console_error_count: integer,
  start_url: personal(text),
  person: personal(RecordingPerson.register(kinds, { kind: 'json' })),
  storage: notPersonal(text),
  snapshot_source: notPersonal(text),
  ongoing: boolean,
  activity_score: decimal,
});
export type Recording = z.infer<typeof Recording>;

/** Section 2.4. */
export const User = z.object({
  id: integer,
  uuid,
  distinct_id: text,
  first_name: text,
  last_name: text,
  email: z.email(),
  is_email_verified: boolean,
  hedgehog_config: z.record(z.string(), z.unknown()),
  role_at_organization: text,
});

const embeddedUser = User.register(kinds, { kind: 'json' });

const counts = z.record(z.string(), z.record(z.string(), z.int())).register(kinds, { kind: 'json' });

/** Section 2.3. Its texts are those of the service's users, and erasures are about other persons. */
export const Playlist = z.object({
  id: integer,
  short_id: notPersonal(text),
  name: notPersonal(text),
  derived_name: notPersonal(text),
  description: notPersonal(text),
  pinned: boolean,
  created_at: time,
  created_by: notPersonal(embeddedUser),
  deleted: boolean,
  filters: notPersonal(anyJson),
  last_modified_at: time,
  last_modified_by: notPersonal(embeddedUser),
  recordings_counts: notPersonal(counts),
});
export type Playlist = z.infer<typeof Playlist>;

/** The writable fields of a playlist (sections 2.3 and 4.3), each optional. */
export const PlaylistChange = Playlist.pick({
  name: true,
  derived_name: true,
  description: true,
  pinned: true,
  deleted: true,
  filters: true,
}).partial();

/** Of which person a distinct id is: made by the mirror, published as `distinct_ids`. */
export const DistinctIdOwner = z.object({ distinct_id: as('distinct_id', text), person_uuid: as('person_uuid', uuid) });

/** A recording in a playlist, as the mirror keeps it. By its person, an erasure reaches a recording that the mirror does not have. */
export const PlaylistRecording = z.object({
  recording_id: as('recording_id', text),
  short_id: notPersonal(text),
  person_uuid: as('person_uuid', uuid),
});

/**
 * A row that has left the mirror, as `deletions` publishes it. `key` stays: copies of the row are deleted by it. `seq`: the
 * number of the change that tells of it.
 */
export const Deletion = z.object({
  key: notPersonal(text),
  dataset: notPersonal(text),
  person_uuid: as('person_uuid', uuid),
  reason: notPersonal(text),
  deleted_at: time,
  request_id: notPersonal(text),
  seq: integer,
});

/** A pass that has ended, as `passes` publishes it: by it, readers judge how fresh and how whole the rows of a list are. */
export const EndedPass = z.object({
  id: integer,
  dataset: notPersonal(text),
  mode: notPersonal(text),
  verdict: notPersonal(text),
  reason: notPersonal(text),
  started_at: time,
  finished_at: time,
  rows_distinct: integer,
  count_reported: integer,
  rows_quarantined: integer,
  seams: integer,
  step_backs: integer,
});

/**
 * An entry of the fence, as a consumer gets it: what stands for an identifier of that kind under the consumer's key. `epoch`: how often
 * the fence had risen; only of the entries that stand for the control, which names nobody.
 */
export const FencedEntry = z.object({
  entry: notPersonal(text),
  consumer: notPersonal(text),
  kind: notPersonal(text),
  epoch: integer,
});

/** Section 2.2: every field optional; the query is a node serialized as JSON text. */
export const TrendInsight = z
  .object({
    name: text,
    derived_name: text,
    filters: z.unknown(),
    query: z
      .string()
      .refine((text) => readJson(text) !== undefined, 'not valid JSON')
      .meta({ contentMediaType: 'application/json', minLength: 1 }),
    order: z.int(),
    deleted: boolean,
    dashboards: z.array(z.int()).meta({ deprecated: true }),
    description: text,
    tags: z.array(z.unknown()),
    favorited: boolean,
    saved: boolean,
  })
  .partial();

/** The body of the person endpoints that take one (section 4.2). */
export const PersonChange = z.object({ properties: z.unknown() }).partial();

/** Section 2.6: one page of a list. */
export function pageOf<T extends z.ZodType>(resource: T) {
  return z.object({
    count: z.int(),
    next: z.string().nullable(),
    previous: z.string().nullable(),
    results: z.array(resource),
  });
}
