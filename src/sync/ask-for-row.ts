import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { isoToMicros } from '../core/time.ts';
import { Person, Recording } from '../contract/resources.ts';
import { tolerantReader, type ColumnValue } from '../contract/tolerant-reader.ts';
import type { Service } from '../client/service.ts';
import type { AbsenceDataset, Suspect } from '../mirror/suspects.ts';
import { personUuidOf } from './person-of-recording.ts';

type ReadColumns = Record<string, ColumnValue>;

/**
 * What the service says of a row that a pass did not see: it is there after all, it is not, its distinct ids now belong
 * to another person, or it cannot be said.
 */
export type Answer =
  | { verdict: 'alive'; row: ReadColumns }
  | { verdict: 'gone' }
  | { verdict: 'merged'; survivor: ReadColumns }
  | { verdict: 'unknown' };

const readPerson = tolerantReader(Person, 'uuid');
const readRecording = tolerantReader(Recording, 'id');
const PersonPage = z.object({ results: z.array(z.unknown()) });

/** Asks whether the project still answers: where it does not, a 404 by id says nothing about a row. */
export async function askForProject(
  service: Service,
  dataset: AbsenceDataset,
  signal: AbortSignal,
): Promise<void> {
  const args = { query: { limit: 1, offset: 0 }, priority: 'deletion', signal } as const;
  if (dataset === 'persons') await service.call('persons.list', args);
  else await service.call('recordings.list', args);
}

/**
 * Asks the service for one row. Only a 404 by id says that it is gone, and only when none of its distinct ids leads to
 * it; every other refusal is thrown, since it says nothing about the row.
 */
export async function askForRow(
  service: Service,
  dataset: AbsenceDataset,
  suspect: Suspect,
  signal: AbortSignal,
): Promise<Answer> {
  return dataset === 'persons'
    ? askForPerson(service, suspect, signal)
    : askForRecording(service, suspect, signal);
}

async function askForPerson(
  service: Service,
  { key, id, distinctIds, createdAt }: Suspect,
  signal: AbortSignal,
): Promise<Answer> {
  let survivor: ReadColumns | undefined;
  for (const distinctId of distinctIds === null ? [] : z.array(z.string()).parse(JSON.parse(distinctIds))) {
    const { body } = await service.call('persons.list', {
      query: { distinct_id: distinctId },
      priority: 'deletion',
      signal,
    });
    for (const person of peopleIn(body).map((result) => readPerson(result))) {
      if (!person.ok) return { verdict: 'unknown' };
      const row: ReadColumns = { ...person.columns, extra: person.extra };
      if (person.columns['uuid'] === key) return { verdict: 'alive', row };
      if (mayBeSurvivor(row['created_at'], createdAt)) survivor = row;
    }
  }
  // A live list shows no integer; then the row is asked for by what its path takes there.
  const found = await orMissing(
    service.call('persons.retrieve', {
      params: { id: (id ?? key) as number },
      priority: 'deletion',
      signal,
    }),
  );
  if (found !== undefined) {
    const person = readPerson(found);
    const isIt = person.ok && person.columns['uuid'] === key;
    return isIt
      ? { verdict: 'alive', row: { ...person.columns, extra: person.extra } }
      : { verdict: 'unknown' };
  }
  return survivor ? { verdict: 'merged', survivor } : { verdict: 'gone' };
}

async function askForRecording(service: Service, { key }: Suspect, signal: AbortSignal): Promise<Answer> {
  const found = await orMissing(
    service.call('recordings.retrieve', { params: { id: key }, priority: 'deletion', signal }),
  );
  if (found === undefined) return { verdict: 'gone' };
  const recording = readRecording(found);
  if (!recording.ok || recording.columns['id'] !== key) return { verdict: 'unknown' };
  return {
    verdict: 'alive',
    row: { ...recording.columns, extra: recording.extra, person_uuid: personUuidOf(found) },
  };
}

/** A survivor takes the older creation time of both: somebody created later has only come by the distinct id anew. */
function mayBeSurvivor(createdAt: ColumnValue | undefined, loserCreatedAt: string | null): boolean {
  const time = isoToMicros(String(createdAt));
  const loserTime = isoToMicros(String(loserCreatedAt));
  return time === undefined || loserTime === undefined || time <= loserTime;
}

function peopleIn(body: unknown): unknown[] {
  const page = PersonPage.safeParse(body);
  if (page.success) return page.data.results;
  throw new AppError('the service answered with something that is not a page of a list', { code: 'service' });
}

async function orMissing(call: ReturnType<Service['call']>): Promise<unknown> {
  try {
    return (await call).body;
  } catch (error) {
    if (error instanceof AppError && error.status === 404) return undefined;
    throw error;
  }
}
