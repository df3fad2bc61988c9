import type { Recording } from '../../contract/resources.ts';
import { microsToIso } from '../../core/time.ts';
import { microsBeforeBase, type SeededRandom } from './seeded-random.ts';

/** What differs between the recordings of profiles: the start, and the form of the id. */
export type RecordingStyle = {
  /** Microseconds since 1970. */
  startMicros(random: SeededRandom): number;
  id(random: SeededRandom): string;
};

/** As documented: over the 90 days before the base, each under a UUID. */
export const documentedRecordings: RecordingStyle = {
  startMicros: (random) => microsBeforeBase(random, 90),
  id: (random) => random.uuid(),
};

/** A recording without its person, and its start in microseconds since 1970. One in twenty is ongoing. */
export function generateRecording(
  random: SeededRandom,
  distinctId: string,
  viewerEmails: readonly string[],
  style: RecordingStyle,
): { recording: Omit<Recording, 'person'>; startMicros: number } {
  const startMicros = style.startMicros(random);
  const activeSeconds = random.int(0, 1800);
  const inactiveSeconds = random.oneIn(3) ? 0 : random.int(0, 3600);
  const viewers = random.oneIn(3) ? viewerEmails.slice(random.int(0, viewerEmails.length - 1)) : [];
  const recording = {
    id: style.id(random),
    distinct_id: distinctId,
    viewed: viewers.length > 0,
    viewers,
    recording_duration: activeSeconds + inactiveSeconds,
    active_seconds: activeSeconds,
    inactive_seconds: inactiveSeconds,
    start_time: microsToIso(startMicros),
    end_time: microsToIso(startMicros + (activeSeconds + inactiveSeconds) * 1_000_000),
    click_count: random.int(0, 200),
    keypress_count: random.int(0, 800),
    mouse_activity_count: random.int(0, 3000),
    console_log_count: random.int(0, 50),
    console_warn_count: random.int(0, 9),
    console_error_count: random.oneIn(4) ? random.int(1, 20) : 0,
    start_url: `https://app.example.com/${random.pick(['', 'pricing?ref=naïve&x=1', 'über-uns#team', 'r/日本語'])}`,
    storage: random.pick(['object_storage', 'object_storage_lts']),
    snapshot_source: random.pick(['web', 'mobile']),
    ongoing: random.oneIn(20),
    activity_score: random.int(0, 10_000) / 100,
  };
  return { recording, startMicros };
}
