import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { emailKey } from '../../contract/email.ts';
import { AppError } from '../../core/errors.ts';
import { pausing } from '../../core/pausing.ts';
import { textDecryption, textEncryption } from '../../core/secret-key.ts';
import type { Database } from '../../mirror/database.ts';
import { listRequests, type ErasureRequest } from '../../mirror/erasure-requests.ts';
import {
  addBoxPart,
  readBox,
  readBoxPart,
  readHolders,
  readListedAgain,
  removeBoxParts,
} from '../../mirror/request-box.ts';
import { boxKeyName } from '../../mirror/fence.ts';
import { identifierKinds, nobody, partsOf, Sighting, identityOf, type Identity } from '../../contract/identity.ts';

// Looked at as they are, not copied: one person can have a million.
const texts = z.custom<string[]>((value) => Array.isArray(value) && value.every((item) => typeof item === 'string'));
const StoredBox = z.strictObject({
  /** The request's own random key (hex): what the ledger holds of the subject is an HMAC under it. */
  subjectKey: z.string(),
  /** As the request named the subject. */
  given: z.array(
    z.strictObject({ kind: z.enum(['uuid', 'id', 'distinct_id', 'email', 'recording']), value: z.string() }),
  ),
  identity: z.strictObject({ person_uuid: texts, person_id: texts, distinct_id: texts, recording_id: texts }),
  /** How the service showed the subject when it was asked; missing before. */
  shown: z.array(Sighting).optional(),
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
  /** How many parts beside the box have the identifiers, where the box itself has none of them. */
  parts: z.int().min(1).optional(),
});
type StoredBox = Omit<z.infer<typeof StoredBox>, 'identity'> & { identity: Identity };

/**
 * The identifiers of a request's subject, and the texts that are searched for. It is kept encrypted, so that the mirror's
 * file holds none of it in clear while a request waits for the service, and destroyed when the request is sealed.
 */
export type Box = Omit<StoredBox, 'parts'>;

/** So many identifiers are encrypted as one text. A box with more has them in parts. */
const identifiersEach = 5_000;

/** How a request names its subject. */
export type GivenIdentifier = Box['given'][number];

/** Who an erasure request is about, as far as it is known: some facts of the request, and its box. Personal data. */
export type Subject = Pick<ErasureRequest, 'id' | 'generation' | 'origin' | 'deleteEvents'> &
  Box & {
    /** When the service no longer had the person, of a request that a restored file has done again. */
    goneAt?: string;
  };

/** What opening and closing boxes needs of a job's context. */
export type BoxContext = { db: Database; settings: { dataDir: string } };

/** A box that was opened. Its identifiers can be a million: each time that they are asked for, some thousands are read at a time. */
export type OpenedBox = { details: Omit<Box, 'identity'>; identities: () => Iterable<Identity> };

/**
 * Prepares the opening of boxes: undefined once a request is sealed. The key is read once. Throws `storage` when key and box do
 * not belong together, or a part is not there.
 */
export function boxOpener({ db, settings }: BoxContext): (id: string) => OpenedBox | undefined {
  const decrypt = textDecryption(settings.dataDir, boxKeyName);
  return (id) => {
    const closed = readBox(db, id);
    if (!closed) return undefined;
    const { identity, parts = 0, ...details } = readOpened(id, () => StoredBox.parse(JSON.parse(decrypt(id, closed))));
    const readPart = (part: number): Identity =>
      readOpened(id, () =>
        StoredBox.shape.identity.parse(
          JSON.parse(decrypt(partName(id, part), readBoxPart(db, id, part) ?? Buffer.alloc(0))),
        ),
      );
    const identities = function* (): Generator<Identity> {
      yield identity;
      for (let part = 0; part < parts; part += 1) yield readPart(part);
    };
    return { details, identities };
  };
}

/** The box of a request; undefined once the request is sealed. Throws as `boxOpener` says. */
export function boxOf(context: BoxContext, id: string): Box | undefined {
  const opened = boxOpener(context)(id);
  if (!opened) return undefined;
  return { ...opened.details, identity: joined([...opened.identities()]) };
}

/** What the box of a request holds beside its identifiers, as `boxOf`. */
export function boxDetailsOf(context: BoxContext, id: string): OpenedBox['details'] | undefined {
  return boxOpener(context)(id)?.details;
}

/** One identity of several, each identifier of which is in one of them only. */
function joined(parts: readonly Identity[]): Identity {
  return identityOf((kind) => parts.flatMap((part) => part[kind]));
}

/** The persons, by uuid, because of which a request is held: those that it would erase, and those that it touches. */
export type HeldBecauseOf = { personsNamed: readonly string[]; sharedWith: readonly string[] };

/**
 * The persons because of which a request is held, or needs attention since they have a distinct id of its subject; none in any other
 * state, or where its box cannot be opened.
 */
export function heldBecauseOf(context: BoxContext, { id, state }: { id: string; state: string }): HeldBecauseOf {
  const none: HeldBecauseOf = { personsNamed: [], sharedWith: [] };
  try {
    if (state === 'attention') return { ...none, sharedWith: [...holdersOf(context, id).keys()] };
    if (state !== 'held') return none;
    const { personsNamed = [], sharedWith = [] } = boxDetailsOf(context, id) ?? none;
    // One person alone is not said: the operator named that person.
    return { personsNamed: personsNamed.length > 1 ? personsNamed : [], sharedWith };
  } catch (error) {
    if (error instanceof AppError) return none;
    throw error;
  }
}

/** The open requests that are wanted, each with its box; none whose identifiers are destroyed. Other work goes on meanwhile. */
export async function openBoxes(
  context: BoxContext,
  isWanted: (request: ErasureRequest) => boolean,
): Promise<{ request: ErasureRequest; box: Box }[]> {
  const pause = pausing();
  const open = boxOpener(context);
  const found: { request: ErasureRequest; box: Box }[] = [];
  for (const request of listRequests(context.db, 'open').filter(isWanted)) {
    const opened = open(request.id);
    if (!opened) continue;
    const parts: Identity[] = [];
    for (const identity of opened.identities()) {
      parts.push(identity);
      await pause();
    }
    found.push({ request, box: { ...opened.details, identity: joined(parts) } });
  }
  return found;
}

/** The subjects of the open requests that are wanted. */
export async function openSubjects(...wanted: Parameters<typeof openBoxes>): Promise<Subject[]> {
  const opened = await openBoxes(...wanted);
  return opened.map(({ request: { id, generation, origin, deleteEvents }, box }) =>
    Object.assign(box, { id, generation, origin, deleteEvents }),
  );
}

/** A new box for a subject, with a fresh key. */
export function newBox(given: readonly GivenIdentifier[], identity: Identity): Box {
  return {
    subjectKey: randomBytes(32).toString('hex'),
    given: [...given],
    identity,
    values: [],
    memberships: [],
    createdAt: null,
  };
}

/** What the ledger holds of a subject: an HMAC-SHA-256 under the request's own key, in hex. Order and spellings do not matter. */
export function subjectMac(box: Pick<Box, 'subjectKey' | 'given'>): string {
  const named = box.given.map((given) => JSON.stringify([given.kind, comparedValue(given)]));
  return requestMac(box, `["subject",${[...new Set(named)].toSorted().join(',')}]`);
}

/** What the ledger holds of who allowed a request: an HMAC-SHA-256 under the request's own key, in hex. */
export function authorisationMac(box: Pick<Box, 'subjectKey'>, by: string): string {
  return requestMac(box, JSON.stringify(['authorisation', by]));
}

/** The text is JSON whose first item says what it is: no two things have one text. */
function requestMac({ subjectKey }: Pick<Box, 'subjectKey'>, text: string): string {
  return createHmac('sha256', Buffer.from(subjectKey, 'hex')).update(text).digest('hex');
}

/** Whether an HMAC is that of a subject. */
export function isSubject(subject: string, box: Pick<Box, 'subjectKey' | 'given'>): boolean {
  return subjectMac(box) === subject;
}

/** A key by which identifiers are compared: e-mail addresses by their `emailKey`, everything else byte for byte. */
export function givenKey(given: GivenIdentifier): string {
  return `${given.kind},${comparedValue(given)}`;
}

function comparedValue({ kind, value }: GivenIdentifier): string {
  return kind === 'email' ? emailKey(value) : value;
}

/**
 * Encrypts a box for one request (AES-256-GCM under the data folder's box key; the request's id is bound in), for its column.
 * The identifiers of a large person are kept beside it. Call it in the transaction that keeps the box.
 */
export function closeBox(context: BoxContext, requestId: string, box: Box): Buffer {
  const closing = closingBox(context, requestId, box);
  for (;;) {
    const { done, value } = closing.next();
    if (done === true) return value;
  }
}

/** Does as `closeBox` does, and yields between the parts. */
export function* closingBox({ db, settings }: BoxContext, requestId: string, box: Box): Generator<void, Buffer> {
  const encrypt = textEncryption(settings.dataDir, boxKeyName);
  const close = (lid: StoredBox): Buffer => encrypt(requestId, JSON.stringify(lid));
  removeBoxParts(db, requestId);
  const count = identifierKinds.reduce((sum, kind) => sum + box.identity[kind].length, 0);
  if (count <= identifiersEach) return close(box);
  let parts = 0;
  for (const identity of partsOf(box.identity, identifiersEach)) {
    addBoxPart(db, requestId, parts, encrypt(partName(requestId, parts), JSON.stringify(identity)));
    parts += 1;
    yield;
  }
  return close({ ...box, identity: nobody, parts });
}

/** What a part is bound to: no other part of this box or another one opens in its place. */
function partName(requestId: string, part: number): string {
  return `${requestId} ${part}`;
}

/**
 * The persons, by uuid, that have a distinct id of a request's subject since before its deletion, each with that id. Throws as
 * `boxOpener` says.
 */
export function holdersOf({ db, settings }: BoxContext, id: string): Map<string, string> {
  const sealed = readHolders(db, id);
  if (!sealed) return new Map();
  const read = (): unknown => JSON.parse(textDecryption(settings.dataDir, boxKeyName)(id, sealed));
  return new Map(Object.entries(readOpened(id, () => holderIds.parse(read()))));
}

const holderIds = z.record(z.string(), z.string());

/** The identifiers of the row in which the service listed a request's person again; undefined where it did not. */
export function listedIdentity({ db, settings }: BoxContext, id: string): Identity | undefined {
  const sealed = readListedAgain(db, id);
  if (!sealed) return undefined;
  const read = (): unknown => JSON.parse(textDecryption(settings.dataDir, boxKeyName)(id, sealed));
  return readOpened(id, () => StoredBox.shape.identity.parse(read()));
}

/** What was decrypted of a request's box. Throws `storage` when key and box do not belong together. */
function readOpened<T>(requestId: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError(`the identifiers of request ${requestId} cannot be decrypted`, {
      code: 'storage',
      hint: 'restore keys/box.key from the backup that belongs to this mirror.db; or cancel the request and add it again',
    });
  }
}
