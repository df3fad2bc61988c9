import { z } from 'zod';
import { isoToMicros } from '../core/time.ts';
import { readJson } from '../core/exact-json.ts';

/**
 * How a field is kept: the one word from which the mirror's SQL, the snapshots' columns and the tolerant reader
 * are derived. `time` is ISO 8601 text, `text_list` an array of strings, `json` any JSON value, `integer_id` an integer
 * that a live list may give as the uuid instead.
 */
export type FieldKind =
  | 'text'
  | 'uuid'
  | 'integer'
  | 'integer_id'
  | 'real'
  | 'boolean'
  | 'time'
  | 'text_list'
  | 'json';

const kinds = z.registry<{ kind: FieldKind }>();

/** The kind of a resource's field. Throws for a schema that is not a field of a resource. */
export function fieldKind(field: z.core.$ZodType): FieldKind {
  const entry = kinds.get(field);
  if (!entry) throw new Error('a resource field without a kind');
  return entry.kind;
}

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
  id: integerId,
  name: text,
  distinct_ids: textList,
  properties: anyJson,
  created_at: time,
  uuid,
});
export type Person = z.infer<typeof Person>;

/** Section 2.1, as embedded in a recording: the distinct ids are one string. */
export const RecordingPerson = Person.extend({ distinct_ids: text });

/** Section 2.5. */
export const Recording = z.object({
  id: text,
  distinct_id: text,
  viewed: boolean,
  viewers: textList,
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
  start_url: text,
  person: RecordingPerson.register(kinds, { kind: 'json' }),
  storage: text,
  snapshot_source: text,
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

/** Section 2.3. */
export const Playlist = z.object({
  id: integer,
  short_id: text,
  name: text,
  derived_name: text,
  description: text,
  pinned: boolean,
  created_at: time,
  created_by: embeddedUser,
  deleted: boolean,
  filters: anyJson,
  last_modified_at: time,
  last_modified_by: embeddedUser,
  recordings_counts: z.record(z.string(), z.record(z.string(), z.int())).register(kinds, { kind: 'json' }),
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

/** Section 2.2: every field optional; the query is a node serialized as JSON text. */
export const TrendInsight = z
  .object({
    name: text,
    derived_name: text,
    filters: z.unknown(),
    query: z.string().refine((text) => readJson(text) !== undefined, 'not valid JSON'),
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
