import { z } from 'zod';
import { isoTime, type Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { Playlist } from '../contract/resources.ts';
import { tolerantReader, type ColumnValue } from '../contract/tolerant-reader.ts';
import type { Service } from '../client/service.ts';
import type { Database } from '../mirror/database.ts';
import { preparePageCommit } from '../mirror/page.ts';
import { mirrored } from '../mirror/write-rows.ts';
import { finishPass, noEvidence, startPass, type Pass } from '../mirror/passes.ts';
import { replacePlaylistRecordings } from '../mirror/playlist-recordings.ts';
import type { QuarantinedRow } from '../mirror/quarantine.ts';

/** What a pass over the configured playlists needs. */
export type SyncPlaylistsParts = {
  shortIds: readonly string[];
  db: Database;
  service: Service;
  clock: Clock;
  signal: AbortSignal;
};

/** The pass, and how many playlists the service told the recordings of (the documented answer has no body). */
export type SyncPlaylistsResult = { pass: Pass; membershipsTold: number };

const readPlaylist = tolerantReader(Playlist, mirrored.playlists.keyColumn);
const Membership = z.object({
  results: z.array(z.object({ id: z.string() })),
  next: z.null().optional(),
  has_next: z.literal(false).optional(),
});

/**
 * Reads each configured playlist and the recordings it holds. A playlist that the service does not know makes the
 * pass incomplete and leaves the mirror's copy as it is.
 */
export async function syncPlaylists({
  shortIds,
  db,
  service,
  clock,
  signal,
}: SyncPlaylistsParts): Promise<SyncPlaylistsResult> {
  const passId = startPass(db, {
    dataset: 'playlists',
    mode: 'full',
    plan: JSON.stringify({ shortIds }),
    at: isoTime(clock.now()),
  });
  const commit = preparePageCommit(db, 'playlists', passId);
  const rows: Record<string, ColumnValue>[] = [];
  const quarantined: QuarantinedRow[] = [];
  let isMissingOne = false;
  let membershipsTold = 0;
  for (const shortId of shortIds) {
    const body = await readOrMissing(service, shortId, signal);
    if (body === undefined) {
      isMissingOne = true;
      continue;
    }
    const row = readPlaylist(body);
    if (row.ok) rows.push({ ...row.columns, extra: row.extra });
    else quarantined.push({ key: shortId, reason: row.reason, payload: JSON.stringify(body) });
    const members = await service.call('playlists.recordings', { params: { short_id: shortId }, signal });
    const membership = Membership.safeParse(members.body);
    if (!membership.success) continue;
    membershipsTold += 1;
    replacePlaylistRecordings(
      db,
      shortId,
      membership.data.results.map(({ id }) => id),
    );
  }
  const evidence = { ...noEvidence, windows: shortIds.length };
  const at = isoTime(clock.now());
  commit({ rows, quarantined, at }, () => ({ evidence, cursor: '' }));
  return { pass: finishPass(db, passId, isMissingOne ? 'not_found' : null, at), membershipsTold };
}

async function readOrMissing(service: Service, shortId: string, signal: AbortSignal): Promise<unknown> {
  try {
    const { body } = await service.call('playlists.retrieve', { params: { short_id: shortId }, signal });
    return body;
  } catch (error) {
    if (error instanceof AppError && error.status === 404) return undefined;
    throw error;
  }
}
