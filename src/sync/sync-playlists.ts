import { shallowJson } from '../core/deep-json.ts';
import { z } from 'zod';
import { isoTime, type Clock } from '../core/clock.ts';
import type { Columns } from '../contract/tolerant-reader.ts';
import { bodyOrMissing, type Service } from '../client/service.ts';
import type { Database } from '../mirror/database.ts';
import { finishPass, noEvidence, prepareSavePass, startPass, type Pass } from '../mirror/passes.ts';
import { prepareWriteRows, replacePlaylistRecordings, type Member } from '../mirror/write-rows.ts';
import type { QuarantinedRow } from '../mirror/quarantine.ts';
import { rowReaders } from '../contract/row-readers.ts';

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

/** All recordings of a playlist. A part of them tells nothing: the others would be taken for removed. */
const Membership = z
  .object({
    results: z.array(z.looseObject({ id: z.string() })),
    next: z.null().optional(),
    has_next: z.literal(false).optional(),
    count: z.number().nullish(),
  })
  .refine(({ results, count }) => results.length >= (count ?? 0));

/**
 * Reads the configured playlists and their recordings. A playlist that the service does not know, or shows under another short
 * id, keeps its copy; the pass is incomplete.
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
  const rows: Columns[] = [];
  const quarantined: QuarantinedRow[] = [];
  let isMissingOne = false;
  let membershipsTold = 0;
  for (const shortId of shortIds) {
    const params = { short_id: shortId };
    const body = await bodyOrMissing(service.call('playlists.retrieve', { params, signal }));
    if (body === undefined) {
      isMissingOne = true;
      continue;
    }
    const row = rowReaders.playlists(body);
    if (row.ok && row.columns['short_id'] !== shortId) {
      isMissingOne = true;
      continue;
    }
    if (row.ok) rows.push(row.columns);
    else quarantined.push({ key: shortId, reason: row.reason, payload: shallowJson(body) });
    const members = await service.call('playlists.recordings', { params, signal });
    const membership = Membership.safeParse(members.body);
    if (!membership.success) continue;
    membershipsTold += 1;
    replacePlaylistRecordings(db, shortId, membership.data.results.map(memberOf), isoTime(clock.now()));
  }
  const evidence = { ...noEvidence, windows: shortIds.length };
  const at = isoTime(clock.now());
  const { isQuarantineFull } = db
    .transaction(() => {
      const { outcome } = prepareWriteRows(db, 'playlists')({ rows, quarantined, at }, passId);
      prepareSavePass(db, passId)(evidence, outcome, null);
      return outcome;
    })
    .immediate();
  const reason = isQuarantineFull ? 'too_many_unreadable' : isMissingOne ? 'not_found' : null;
  return { pass: finishPass(db, passId, reason, at), membershipsTold };
}

function memberOf(shown: { id: string }): Member {
  const recording = rowReaders.recordings(shown);
  const textOf = (name: string): string | null => {
    const value = recording.ok ? recording.columns[name] : null;
    return typeof value === 'string' ? value : null;
  };
  return { id: shown.id, person_uuid: textOf('person_uuid'), distinct_id: textOf('distinct_id') };
}
