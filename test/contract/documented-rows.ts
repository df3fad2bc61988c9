import type { z } from 'zod';
import { describeField, Person, Playlist, Recording, type FieldKind } from '../../src/contract/resources.ts';

const examples: Record<FieldKind, unknown> = {
  text: 'a text',
  uuid: '0190f0a0-0000-7000-8000-000000000000',
  integer: 1,
  integer_id: 1,
  real: 0.5,
  boolean: true,
  time: '2024-05-01T00:00:00Z',
  text_list: ['a text'],
  json: {},
};

/** An example of each field, for those that no row below names. */
function exampleOf(resource: z.ZodObject): object {
  return Object.fromEntries(
    Object.entries(resource.shape).map(([name, field]) => [name, examples[describeField(field).kind]]),
  );
}

/** One of each resource, as the document describes them. */
export const person = {
  ...exampleOf(Person),
  id: 12,
  name: 'Ada Lovelace',
  distinct_ids: ['ada', 'lovelace'],
  properties: { email: 'ada@example.com' },
  created_at: '2024-05-01T00:00:00.123456Z',
  uuid: '0190f0a0-0000-7000-8000-00000000000a',
};

export const recording = {
  ...exampleOf(Recording),
  id: '0190f0a0-0000-7000-8000-00000000000b',
  distinct_id: 'ada',
  viewed: true,
  viewers: ['grace'],
  recording_duration: 61,
  active_seconds: 40,
  inactive_seconds: 21,
  start_time: '2024-05-01T00:00:00Z',
  end_time: '2024-05-01T00:01:01Z',
  click_count: 3,
  keypress_count: 4,
  mouse_activity_count: 5,
  console_log_count: 0,
  console_warn_count: 1,
  console_error_count: 2,
  start_url: 'https://example.com/',
  person: { ...person, distinct_ids: 'ada' },
  storage: 'object_storage',
  snapshot_source: 'web',
  ongoing: false,
  activity_score: 12.5,
};

const user = {
  id: 1,
  uuid: '0190f0a0-0000-7000-8000-00000000000c',
  distinct_id: 'grace',
  first_name: 'Grace',
  last_name: 'Hopper',
  email: 'grace@example.com',
  is_email_verified: true,
  hedgehog_config: { color: 'green' },
  role_at_organization: 'engineering',
};

export const playlist = {
  ...exampleOf(Playlist),
  id: 7,
  short_id: 'abc123',
  name: 'Rage clicks',
  derived_name: 'Rage clicks',
  description: '',
  pinned: false,
  created_at: '2024-05-01T00:00:00Z',
  created_by: user,
  deleted: false,
  filters: null,
  last_modified_at: '2024-05-02T00:00:00Z',
  last_modified_by: user,
  recordings_counts: { saved_filters: { count: 4, watched_count: 1 } },
};
