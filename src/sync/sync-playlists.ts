import { shallowJson } from '../core/deep-json.ts';
import { isoTime } from '../core/clock.ts';
import type { Columns } from '../contract/tolerant-reader.ts';
import { askForEntries } from '../client/playlist-entries.ts';
import { bodyOrMissing, isSingleCase } from '../client/service.ts';
import type { AppError } from '../core/errors.ts';
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
  shortIds: readonly string[];
};

/** The pass, and how many playlists the service told all recordings of (the documented answer has no body). */
export type SyncPlaylistsResult = { pass: Pass; membershipsTold: number };

/**
 * Reads the configured playlists and their recordings. A playlist that the service does not know, or shows under another short
 * id, keeps its copy; the pass is incomplete. A playlist whose recordings are not told, or not all of them, keeps those that are
 * known; the pass names it. Where the service fails at one alone, the others are read, and the first such error is thrown at the end.
 */
export async function syncPlaylists(parts: SyncPlaylistsParts): Promise<SyncPlaylistsResult> {
  const { shortIds, db, service, clock, signal } = parts;
  const passId = startPass(db, {
    dataset: 'playlists',
    mode: 'full',
    plan: JSON.stringify({ shortIds }),
    at: isoTime(clock.now()),
  });
  const rows: Columns[] = [];
  const quarantined: QuarantinedRow[] = [];
  const untold: UntoldEntries[] = [];
  let missing = 0;
  let failure: AppError | undefined;
  const read = async (shortId: string): Promise<void> => {
    const params = { short_id: shortId };
    const body = await bodyOrMissing(service.call('playlists.retrieve', { params, signal }));
    const row = body === undefined ? undefined : rowReaders.playlists(body);
    if (!row || (row.ok && row.columns['short_id'] !== shortId)) {
      missing += 1;
      untold.push({ shortId, reason: 'not_found' });
      return;
    }
    if (row.ok) rows.push(row.columns);
    else quarantined.push({ key: shortId, reason: row.reason, payload: shallowJson(body) });
    const { shown, reason } = await askForEntries(service, shortId, body, { signal });
    if (reason !== null) untold.push({ shortId, reason });
    if (shown !== null)
      replacePlaylistRecordings(db, shortId, shown.map(memberOf), isoTime(clock.now()), reason === null);
  };
  for (const shortId of shortIds)
    await read(shortId).catch((error: unknown) => {
      if (!isSingleCase(error)) throw error;
      failure ??= error;
    });
  const evidence = { ...noEvidence, windows: shortIds.length };
  const at = isoTime(clock.now());
  const { isQuarantineFull } = transact(db, () => {
    const { outcome } = prepareWriteRows(db, 'playlists')({ rows, quarantined, at }, passId);
    prepareSavePass(db, passId)(evidence, outcome, null);
    noteUntold(db, passId, [...untold, ...untoldBefore(lastJudgedPass(db, 'playlists'), shortIds)]);
    return outcome;
  });
  if (failure) throw failure;
  const reason = isQuarantineFull ? 'too_many_unreadable' : missing > 0 ? 'not_found' : null;
  return { pass: finishPass(db, passId, reason, at), membershipsTold: shortIds.length - untold.length };
}

function memberOf(shown: { id: string }): Member {
  const recording = rowReaders.recordings(shown);
  const textOf = (name: string): string | null => {
    const value = recording.ok ? recording.columns[name] : null;
    return typeof value === 'string' ? value : null;
  };
  return { id: shown.id, person_uuid: textOf('person_uuid'), distinct_id: textOf('distinct_id') };
}
