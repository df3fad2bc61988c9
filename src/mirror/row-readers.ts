import { z } from 'zod';
import { Person, Playlist, Recording } from '../contract/resources.ts';
import { tolerantReader, type RowReader } from '../contract/tolerant-reader.ts';
import type { PassDataset } from './passes.ts';
import { rowTables } from './row-table.ts';

const readOnlyRecording = tolerantReader(Recording, rowTables.recordings.keyColumn);

/** How the rows of each dataset are read: every column of its table that the service's row gives. */
export const rowReaders: Readonly<Record<PassDataset, RowReader>> = {
  persons: tolerantReader(Person, rowTables.persons.keyColumn),
  recordings: (row) => {
    const recording = readOnlyRecording(row);
    if (recording.ok) recording.columns['person_uuid'] = personUuidOf(row);
    return recording;
  },
  playlists: tolerantReader(Playlist, rowTables.playlists.keyColumn),
};

const RowWithPerson = z.object({ person: z.object({ uuid: z.guid() }) });

/** The uuid of the person that a recording embeds, in lower case; null where it embeds none. */
function personUuidOf(recording: unknown): string | null {
  const known = RowWithPerson.safeParse(recording);
  return known.success ? known.data.person.uuid.toLowerCase() : null;
}
