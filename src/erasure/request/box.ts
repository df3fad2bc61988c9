import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { emailKey } from '../../contract/email.ts';
import { AppError } from '../../core/errors.ts';
import { pausing } from '../../core/pausing.ts';
import { decryptText, encryptText } from '../../core/secret-key.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { Database } from '../../mirror/database.ts';
import { listRequests, readBox, readListedAgain, type ErasureRequest } from '../../mirror/erasure-requests.ts';
import { boxKeyName } from '../../mirror/fence.ts';
import { Sighting, type Identity } from '../../contract/identity.ts';

// Looked at as they are, not copied: one person can have a million.
const texts = z.custom<string[]>((value) => Array.isArray(value) && value.every((item) => typeof item === 'string'));
const Box = z.strictObject({
  /** The request's own random key (hex): what the ledger holds of the subject is an HMAC under it. */
  subjectKey: z.string(),
  /** As the request named the subject. */
  given: z.array(
    z.strictObject({ kind: z.enum(['uuid', 'id', 'distinct_id', 'email', 'recording']), value: z.string() }),
  ),
  identity: z.strictObject({ person_uuid: texts, person_id: texts, distinct_id: texts, recording_id: texts }),
  /** How the service showed the subject when it was asked. */
  shown: z.array(Sighting).default([]),
  /** The living persons, by uuid, that the given identifiers name. */
  personsNamed: texts.optional(),
  /** The living persons, by uuid, that have or had an identifier of the subject. */
  sharedWith: texts.optional(),
  /** Texts of the subject's rows: what the scans search for. */
  values: texts,
  /** How many texts, at most, there was no room for; 0 unless given. */
  leftOut: z.int().min(1).optional(),
  memberships: z.array(z.strictObject({ shortId: z.string(), recordingId: z.string() })),
  /** When the service created the person. */
  createdAt: z.string().nullable(),
});

/**
 * The identifiers of a request's subject, and the texts that are searched for. It is kept encrypted, so that the mirror's
 * file holds none of it in clear while a request waits for the service, and destroyed when the request is sealed.
 */
export type Box = Omit<z.infer<typeof Box>, 'identity'> & { identity: Identity };

/** How a request names its subject. */
export type GivenIdentifier = Box['given'][number];

/** Who an erasure request is about, as far as it is known: some facts of the request, and its box. Personal data. */
export type Subject = Pick<ErasureRequest, 'id' | 'generation' | 'deleteEvents'> & Box;

/** The box of a request; undefined once the request is sealed. Throws `storage` as `openBox` does. */
export function boxOf({ db, settings }: Pick<JobContext, 'db' | 'settings'>, id: string): Box | undefined {
  const closed = readBox(db, id);
  return closed && openBox(settings.dataDir, id, closed);
}

/** The persons, by uuid, because of which a request is held: those that it would erase, and those that it touches. */
export type HeldBecauseOf = { personsNamed: readonly string[]; sharedWith: readonly string[] };

/** The persons because of which a request is held; none where it is not held, or its box cannot be opened. */
export function heldBecauseOf(
  context: Pick<JobContext, 'db' | 'settings'>,
  { id, state }: { id: string; state: string },
): HeldBecauseOf {
  const none: HeldBecauseOf = { personsNamed: [], sharedWith: [] };
  if (state !== 'held') return none;
  try {
    const { personsNamed = [], sharedWith = [] } = boxOf(context, id) ?? none;
    // One person alone is not said: the operator named that person.
    return { personsNamed: personsNamed.length > 1 ? personsNamed : [], sharedWith };
  } catch (error) {
    if (error instanceof AppError) return none;
    throw error;
  }
}

/** The open requests that are wanted, each with its box; none whose identifiers are destroyed. Other work goes on meanwhile. */
export async function openBoxes(
  context: Pick<JobContext, 'db' | 'settings'>,
  isWanted: (request: ErasureRequest) => boolean,
): Promise<{ request: ErasureRequest; box: Box }[]> {
  const pause = pausing();
  const opened: { request: ErasureRequest; box: Box }[] = [];
  for (const request of listRequests(context.db, 'open').filter(isWanted)) {
    const box = boxOf(context, request.id);
    if (box) opened.push({ request, box });
    await pause();
  }
  return opened;
}

/** The subjects of the open requests that are wanted. */
export async function openSubjects(...wanted: Parameters<typeof openBoxes>): Promise<Subject[]> {
  const opened = await openBoxes(...wanted);
  return opened.map(({ request: { id, generation, deleteEvents }, box }) =>
    Object.assign(box, { id, generation, deleteEvents }),
  );
}

/** A new box for a subject, with a fresh key. */
export function newBox(given: readonly GivenIdentifier[], identity: Identity): Box {
  return {
    subjectKey: randomBytes(32).toString('hex'),
    given: [...given],
    identity,
    shown: [],
    values: [],
    memberships: [],
    createdAt: null,
  };
}

/** What the ledger holds of a subject: an HMAC-SHA-256 under the request's own key, in hex. The order does not matter. */
export function subjectMac(box: Pick<Box, 'subjectKey' | 'given'>): string {
  const named = box.given.map((given) => JSON.stringify([given.kind, comparedValue(given)]));
  return requestMac(box, `["subject 2",${named.toSorted().join(',')}]`);
}

/** What the ledger holds of who allowed a request: an HMAC-SHA-256 under the request's own key, in hex. */
export function authorisationMac(box: Pick<Box, 'subjectKey'>, by: string): string {
  return requestMac(box, JSON.stringify(['authorisation 2', by]));
}

/** The text is JSON whose first item says what it is: no two things have one text. */
function requestMac({ subjectKey }: Pick<Box, 'subjectKey'>, text: string): string {
  return createHmac('sha256', Buffer.from(subjectKey, 'hex')).update(text).digest('hex');
}

/**
 * Whether an HMAC is that of a subject. Earlier versions wrote `<kind>,<value>` and a newline, the value compared or as given;
 * a newline can stand in a value, so such a text tells one identifier only. No request has named its subject by several.
 */
export function isSubject(subject: string, box: Pick<Box, 'subjectKey' | 'given'>): boolean {
  const [one, ...others] = box.given;
  const earlier =
    one && others.length === 0 ? [comparedValue(one), one.value].map((value) => `${one.kind},${value}\n`) : [];
  return subjectMac(box) === subject || earlier.some((text) => requestMac(box, text) === subject);
}

/** A key by which identifiers are compared: e-mail addresses by their `emailKey`, everything else byte for byte. */
export function givenKey(given: GivenIdentifier): string {
  return `${given.kind},${comparedValue(given)}`;
}

function comparedValue({ kind, value }: GivenIdentifier): string {
  return kind === 'email' ? emailKey(value) : value;
}

/** Encrypts a box for one request (AES-256-GCM under the data folder's box key; the request's id is bound in). */
export function closeBox(dataDir: string, requestId: string, box: Box): Buffer {
  return encryptText(dataDir, boxKeyName, requestId, JSON.stringify(box));
}

/** The identifiers of the row in which the service listed a request's person again; undefined where it did not. */
export function listedIdentity(dataDir: string, db: Database, requestId: string): Identity | undefined {
  const sealed = readListedAgain(db, requestId);
  if (!sealed) return undefined;
  return Box.shape.identity.parse(JSON.parse(decryptText(dataDir, boxKeyName, requestId, sealed)));
}

/** Decrypts a request's box. Throws `storage` when key and box do not belong together. */
export function openBox(dataDir: string, requestId: string, sealed: Buffer): Box {
  try {
    return Box.parse(JSON.parse(decryptText(dataDir, boxKeyName, requestId, sealed)));
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError(`the identifiers of request ${requestId} cannot be decrypted`, {
      code: 'storage',
      hint: 'restore keys/box.key from the backup that belongs to this mirror.db; or cancel the request and add it again',
    });
  }
}
