import type { Database } from 'better-sqlite3';
import { isoToMicros } from '../core/time.ts';
import type { Identifier, IdentifierKind } from '../contract/identity.ts';
import type { ColumnValue } from '../contract/tolerant-reader.ts';
import type { Origin } from '../ledger/vocabulary.ts';
import { prepareFenceFilter, type FenceFilter } from './fence-mac.ts';

/**
 * A request that has fenced an identifier, and what was known when its fence rose. Times are ISO 8601 UTC: `fencedAt` by this
 * machine's clock, `servedAt` by the service's. `seenPass`: no row that was added since was first seen by it or a pass before.
 * `createdMac`: of when the service had made the person, where the mirror had the row. `sentCreatedAt`: when it had made the newest
 * person whose deletion was sent to it.
 */
type Fencing = {
  requestId: string;
  /** Null where this mirror does not have the request. */
  origin: Origin | null;
  fencedAt: string;
  servedAt: string | null;
  seenPass: number | null;
  createdMac: Buffer | null;
  sentCreatedAt: string | null;
};

/** An identifier that is fenced, and the requests that have fenced it, the newest first. */
export type Hit = Identifier & { fencings: readonly Fencing[] };

/** A person as a row shows it. `createdAt` is by the service's clock. */
export type ShownPerson = {
  uuid: string | null;
  id: string | null;
  distinctIds: readonly string[];
  name: string | null;
  createdAt: string | null;
};

/** The fence, as pages ask it. */
export type Fence = Pick<FenceFilter, 'refresh' | 'isEmpty'> & {
  /** Undefined where an identifier is not fenced. */
  find: (kind: IdentifierKind, value: string) => Hit | undefined;
  /** Counts a row that an identifier keeps out. `isRecreated`: it is of somebody who came after the erasure. */
  count: (identifier: Identifier, at: string, isRecreated: boolean) => void;
  /**
   * Whether a row that a fenced identifier names was there before the erasure. `madeAt`: when the service made it. A person made at the
   * very same time, or no later than the one whose deletion was sent, is the one who was erased, whatever clocks have done since; else
   * the service's time then and now decides.
   */
  isSame: (hit: Hit, madeAt: ColumnValue | undefined) => boolean;
  /** Whether a person who holds a fenced distinct id came after the erasure. */
  cameAfter: (person: ShownPerson, hit: Hit) => boolean;
};

/** Opens the fence for the pages of a connection. */
export function openFence(db: Database): Fence {
  const { refresh, isEmpty, mayHold } = prepareFenceFilter(db);
  const find = db.prepare<[string, string, string], Fencing>(/*sql*/ `SELECT fence.request_id AS requestId, origin,
      fence.fenced_at AS fencedAt, served_at AS servedAt, seen_pass AS seenPass,
      created_mac AS createdMac, sent_created_at AS sentCreatedAt
    FROM fence LEFT JOIN erasure_requests ON id = fence.request_id
      LEFT JOIN erasure_targets ON erasure_targets.request_id = id AND target = 'upstream.person'
    WHERE kind = ? AND mac = fence_mac(?, ?) ORDER BY fence.epoch DESC, fence.request_id`);
  const count =
    db.prepare(/*sql*/ `UPDATE fence SET hits = hits + 1, recreated = recreated + @isRecreated, last_hit_at = @at
    WHERE kind = @kind AND mac = fence_mac(@kind, @value)`);
  const firstSeen = db
    .prepare<[{ uuid: string }], number | null>(/*sql*/ `SELECT min(first_seen_pass) FROM (
        SELECT first_seen_pass FROM persons WHERE uuid = @uuid
        UNION ALL SELECT first_seen_pass FROM deletions WHERE dataset = 'persons' AND key = @uuid
        UNION ALL SELECT first_seen_pass FROM quarantine WHERE dataset = 'persons' AND row_id = @uuid)`)
    .pluck();
  const createdMac = db.prepare<[string], Buffer | null>(/*sql*/ `SELECT fence_mac('created_at', ?)`).pluck();
  return {
    refresh,
    isEmpty,
    find: (kind, value) => {
      if (!mayHold(kind, value)) return undefined;
      const fencings = find.all(kind, kind, value);
      return fencings.length === 0 ? undefined : { kind, value, fencings };
    },
    count: (identifier, at, isRecreated) =>
      void count.run({ kind: identifier.kind, value: identifier.value, at, isRecreated: isRecreated ? 1 : 0 }),
    isSame: (hit, madeAt) => {
      if (hit.kind === 'recording_id') return true;
      const mac = createdMac.get(String(madeAt));
      const isThatOne = ({ createdMac: own, sentCreatedAt }: Fencing): boolean =>
        (mac && own?.equals(mac)) === true || isUpTo(String(madeAt), sentCreatedAt);
      return hit.fencings.some(isThatOne) || !isAfter(madeAt, hit);
    },
    cameAfter: ({ uuid, createdAt }, { fencings }) =>
      fencings.some(({ seenPass, servedAt }) => {
        if (seenPass === null || uuid === null) return !isUpTo(createdAt, servedAt);
        const first = firstSeen.get({ uuid }) ?? null;
        return first === null || first > seenPass;
      }),
  };
}

/** Whether a time of the service is after an identifier was first fenced. */
function isAfter(time: ColumnValue | undefined, { fencings }: Hit): boolean {
  const micros = isoToMicros(String(time));
  return (
    micros !== undefined &&
    fencings.some(({ servedAt, fencedAt }) => (isoToMicros(servedAt ?? fencedAt) ?? micros) < micros)
  );
}

/** Whether both times are known, and the first is not later. Where nothing shows that somebody was there before, it is false. */
function isUpTo(time: string | null, limit: string | null): boolean {
  const [micros, limitMicros] = [isoToMicros(time ?? ''), isoToMicros(limit ?? '')];
  return micros !== undefined && limitMicros !== undefined && micros <= limitMicros;
}
