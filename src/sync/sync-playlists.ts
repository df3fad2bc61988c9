import { shallowJson } from '../core/deep-json.ts';
import { isoTime } from '../core/clock.ts';
import { isJsonObject } from '../core/exact-json.ts';
import type { Columns } from '../contract/tolerant-reader.ts';
import { askForEntries, type ShownEntry } from '../client/playlist-entries.ts';
import { bodyOrMissing, isSingleCase } from '../client/service.ts';
import { AppError } from '../core/errors.ts';
import {
  finishPass,
  lastJudgedPass,
  noEvidence,
  noteUntold,
  prepareSavePass,
  startPass,
  type Pass,
  untoldBefore,
  type UntoldEntries,
} from '../mirror/passes.ts';
import { prepareWriteRows, replacePlaylistRecordings, type Member } from '../mirror/write-rows.ts';
import type { QuarantinedRow } from '../mirror/quarantine.ts';
import { rowReaders } from '../contract/row-readers.ts';
import { transact } from '../mirror/transact.ts';
import type { ServiceContext } from '../job/job-context.ts';

/** What a pass over the configured playlists needs. */
export type SyncPlaylistsParts = Pick<ServiceContext, 'db' | 'service' | 'clock' | 'signal'> & {
  /** Is called after each playlist. What was read of it stays with the pass where the signal ends the call. */
  onStep?: () => void;
};

/** A pass over playlists that was begun, with what was read so far. It does not outlive the process. */
export type PlaylistPass = {
  id: number;
  shortIds: readonly string[];
  next: number;
  /** By short id: a playlist is read again where the signal came in the middle. */
  rows: Map<string, Columns>;
  quarantined: Map<string, QuarantinedRow>;
  untold: UntoldEntries[];
  missing: number;
  /** One error for each playlist that the service refuses the key. */
  refused: AppError[];
  failure: AppError | undefined;
};

/** Begins a pass over these playlists. */
export function beginPlaylistPass(
  { db, clock }: Pick<SyncPlaylistsParts, 'db' | 'clock'>,
  shortIds: readonly string[],
): PlaylistPass {
  const at = isoTime(clock.now());
  const id = startPass(db, { dataset: 'playlists', mode: 'full', plan: JSON.stringify({ shortIds }), at });
  const found = { rows: new Map(), quarantined: new Map(), untold: [], missing: 0, refused: [], failure: undefined };
  return { id, shortIds, next: 0, ...found };
}

/** The pass, and how many playlists the service told all recordings of (the documented answer has no body). */
export type SyncPlaylistsResult = { pass: Pass; membershipsTold: number };

/**
 * Reads the playlists of a pass and their recordings, those that were not read yet. A playlist that the service does not know, refuses
 * the key (403), or shows under another short id, keeps its copy; the pass is incomplete. A playlist whose recordings are not told, or
 * not all of them, keeps those that are known. The pass names both. Where the service fails at one alone, the others are read, and the
 * first such error is thrown at the end. A key that is refused each of them ends the pass.
 */
export async function syncPlaylists(parts: SyncPlaylistsParts, pass: PlaylistPass): Promise<SyncPlaylistsResult> {
  const { db, service, clock, signal, onStep } = parts;
  const { id: passId, shortIds, rows, quarantined, untold } = pass;
  const read = async (shortId: string): Promise<void> => {
    const params = { short_id: shortId };
    const body = await bodyOrMissing(service.call('playlists.retrieve', { params, signal }));
    const row = body === undefined ? undefined : rowReaders.playlists(body);
    if (!row || (row.ok && row.columns['short_id'] !== shortId)) {
      pass.missing += 1;
      untold.push({ shortId, reason: 'not_found' });
      return;
    }
    if (row.ok) rows.set(shortId, row.columns);
    else quarantined.set(shortId, { key: shortId, reason: row.reason, payload: shallowJson(body) });
    const { shown, reason } = await askForEntries(service, shortId, body, { signal });
    if (reason !== null) untold.push({ shortId, reason });
    if (shown !== null)
      replacePlaylistRecordings(db, shortId, shown.map(memberOf), isoTime(clock.now()), reason === null);
  };
  for (const shortId of shortIds.slice(pass.next)) {
    signal.throwIfAborted();
    await read(shortId).catch((error: unknown) => {
      const isRefused = error instanceof AppError && error.code === 'refused' && error.status === 403;
      if (!isRefused && !isSingleCase(error)) throw error;
      if (!isRefused) pass.failure ??= error;
      else {
        pass.refused.push(error);
        untold.push({ shortId, reason: 'refused' });
      }
    });
    pass.next += 1;
    onStep?.();
  }
  const [refused] = pass.refused;
  if (refused && pass.refused.length === shortIds.length) throw refused;
  const evidence = { ...noEvidence, windows: shortIds.length };
  const at = isoTime(clock.now());
  const all = { rows: [...rows.values()], quarantined: [...quarantined.values()], at };
  const { isQuarantineFull } = transact(db, () => {
    const { outcome } = prepareWriteRows(db, 'playlists')(all, passId);
    prepareSavePass(db, passId)(evidence, outcome, null);
    noteUntold(db, passId, [...untold, ...untoldBefore(lastJudgedPass(db, 'playlists'), shortIds)]);
    return outcome;
  });
  if (pass.failure) throw pass.failure;
  const isMissing = pass.missing > 0 || refused !== undefined;
  const reason = isQuarantineFull ? 'too_many_unreadable' : isMissing ? 'not_found' : null;
  return { pass: finishPass(db, passId, reason, at), membershipsTold: shortIds.length - untold.length };
}

/** Each field that says whose it is is read by itself: whatever else cannot be read of an entry, an erasure has to find it. */
function memberOf({ id, distinct_id, person }: ShownEntry): Member {
  const textOf = (name: string, field: object): string | null => {
    const recording = rowReaders.recordings({ id: 'entry', ...field });
    const value = recording.ok ? recording.columns[name] : null;
    return typeof value === 'string' ? value : null;
  };
  const uuid = isJsonObject(person) ? person['uuid'] : null;
  return {
    id,
    person_uuid: textOf('person_uuid', { person: { uuid } }),
    distinct_id: textOf('distinct_id', { distinct_id }),
  };
}
