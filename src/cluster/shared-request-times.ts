import { readPace } from '../client/pace.ts';
import type { Kept, Reading, RequestTimes } from '../client/request-times.ts';
import type { ClusterDatabase } from './cluster-database.ts';

/** Whose requests are counted: `account` is a digest of service and key. `timeoutMs`: when a request ends at the latest. */
export type SharedAccount = { account: string; timeoutMs: number };

type EndsRow = { now_ms: number; general: number[]; recordings: number[]; pace: string | null };

const nowMs = /*sql*/ `floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`;

const latest = (of: string, most: string): string => /*sql*/ `ARRAY(SELECT ended_at_ms::float8
  FROM analytics_mirror.request_times WHERE account = $1 ${of} ORDER BY ended_at_ms DESC LIMIT ${most})`;
const select = /*sql*/ `SELECT ${nowMs}::float8 AS now_ms, ${latest('', '$2')} AS general,
  ${latest(`AND lane = 'recordings list'`, '$3')} AS recordings,
  (SELECT left(pace, 10000) FROM analytics_mirror.request_pace WHERE account = $1) AS pace`;

/**
 * The request times of one key over all machines of a cluster, by the clock of its database. A request whose process died, or
 * whose end could not be noted, ends with its time out. `own`: the times of this data folder, which are kept besides.
 */
export function sharedRequestTimes(
  database: ClusterDatabase,
  { account, timeoutMs }: SharedAccount,
  kept: Kept,
  own: RequestTimes,
): RequestTimes {
  const readBy = async (query: ClusterDatabase['query']): Promise<Reading> => {
    const { requests } = kept;
    const [row] = await query<EndsRow>(select, [account, requests.general, requests['recordings list']]);
    const now = row?.now_ms ?? 0;
    const upTo = (ends: readonly number[] = []): number[] => ends.map((end) => Math.min(end, now)).toReversed();
    const ends = { general: upTo(row?.general), 'recordings list': upTo(row?.recordings) };
    return { nowMs: now, ends, pace: readPace(row?.pace ?? undefined) };
  };
  return {
    read: () => readBy(database.query),
    tryToBegin: async (lane, tooEarlyMs) => {
      const begun = await database.locked(account, async (query) => {
        await query(
          /*sql*/ `DELETE FROM analytics_mirror.request_times WHERE account = $1 AND ended_at_ms < ${nowMs} - $2`,
          [account, kept.ms],
        );
        // What ends later than it can (the clock was set back) ends as late as it can.
        await query(
          /*sql*/ `UPDATE analytics_mirror.request_times SET ended_at_ms = ${nowMs} + 1 + under_way_ms
            WHERE account = $1 AND ended_at_ms > ${nowMs} + 1 + under_way_ms`,
          [account],
        );
        const waitMs = tooEarlyMs(await readBy(query));
        if (waitMs > 0) return waitMs;
        const [row] = await query<{ id: string }>(
          /*sql*/ `INSERT INTO analytics_mirror.request_times (account, lane, ended_at_ms, under_way_ms)
            VALUES ($1, $2, ${nowMs} + $3, $3) RETURNING id`,
          [account, lane, timeoutMs],
        );
        return { id: row?.id };
      });
      if (typeof begun === 'number') return begun;
      const endOwn = await own.tryToBegin(lane, () => 0);
      return async () => {
        if (typeof endOwn === 'function') await endOwn();
        const sql = /*sql*/ `UPDATE analytics_mirror.request_times SET ended_at_ms = ${nowMs} + 1, under_way_ms = 0 WHERE id = $1`;
        await database.query(sql, [begun.id]).catch(() => undefined);
      };
    },
    changePace: async (change) => {
      const pace = await database.locked(account, async (query) => {
        const changed = change(await readBy(query));
        const sql = /*sql*/ `INSERT INTO analytics_mirror.request_pace (account, pace) VALUES ($1, $2)
          ON CONFLICT (account) DO UPDATE SET pace = excluded.pace`;
        await query(sql, [account, JSON.stringify(changed)]);
        return changed;
      });
      // For the status of this data folder.
      await own.changePace(() => pace);
    },
  };
}
