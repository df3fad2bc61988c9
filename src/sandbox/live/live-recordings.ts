import type { RecordingStyle } from '../generator/recording.ts';

/** Over how many days up to now recordings are spread. */
export const recordedDays = 28;

/** As a live service has them: over the days before now, under ids that are any text. */
export function liveRecordings(now: () => number): RecordingStyle {
  return {
    startMicros: (random) => now() * 1000 - random.int(1, recordedDays * 86_400_000_000),
    id: (random) => (random.oneIn(2) ? random.uuid() : random.pick(idForms)(random.uuid())),
  };
}

const idLengthMax = 200;

/** Each is unique by the uuid in it, and none is longer than 200 characters. */
const idForms: readonly ((uuid: string) => string)[] = [
  (uuid) => `mobile/${uuid}/1`,
  (uuid) => `../../${uuid}/..`,
  (uuid) => `.${uuid}.`,
  (uuid) => `"${uuid}" '; --`,
  (uuid) => `${uuid}?a=1&b=%2F#é`,
  (uuid) => `セッション ${uuid} 👩‍🚀`,
  (uuid) => `C:\\${uuid}\\NUL`,
  (uuid) => uuid.padEnd(idLengthMax, 'x'),
];
