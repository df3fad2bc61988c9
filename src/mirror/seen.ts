import type { Database } from 'better-sqlite3';
import type { MirroredDataset } from '../contract/datasets.ts';

/** Surrogate keys in a row, all of rows that one pass saw last. */
type Range = { from: number; to: number; passId: number };

/** Which pass saw a row last. */
export type Seen = {
  /** Whether a pass has seen a row and no later one has. */
  isSeen: (rowKey: number, passId: number) => boolean;
  /** Notes that a pass has seen rows, unless a later one has. Returns how many it had not seen before. */
  markSeen: (rowKeys: readonly number[], passId: number) => number;
};

/** SQL: the rows of a dataset (`row_key` and all columns) beside the pass that saw each of them last. The ranges stand outside. */
export function seenRows(dataset: MirroredDataset): string {
  return /*sql*/ `${dataset}_seen CROSS JOIN ${dataset} ON row_key BETWEEN from_key AND to_key`;
}

/** SQL: the pass that saw a row last, by its surrogate key; null where none has. */
export function seenPass(dataset: MirroredDataset, rowKey: string): string {
  return /*sql*/ `(SELECT iif(to_key >= ${rowKey}, pass_id, NULL) FROM ${dataset}_seen
    WHERE from_key <= ${rowKey} ORDER BY from_key DESC LIMIT 1)`;
}

/** SQL: statements that take a row, by its surrogate key (`@rowKey`), out of the ranges. The key may later be another row's. */
export function forgetSeen(dataset: MirroredDataset): string[] {
  return [
    /*sql*/ `INSERT INTO ${dataset}_seen (from_key, to_key, pass_id) SELECT @rowKey + 1, to_key, pass_id FROM
      (SELECT to_key, pass_id FROM ${dataset}_seen WHERE from_key <= @rowKey ORDER BY from_key DESC LIMIT 1) WHERE to_key > @rowKey`,
    /*sql*/ `UPDATE ${dataset}_seen SET to_key = @rowKey - 1 WHERE to_key >= @rowKey
      AND from_key = (SELECT max(from_key) FROM ${dataset}_seen WHERE from_key < @rowKey)`,
    /*sql*/ `DELETE FROM ${dataset}_seen WHERE from_key = @rowKey`,
  ];
}

/** Rows that stand farther apart than this are marked by themselves: the ranges between them are not read. */
const gapMax = 1_000;

/** Prepares what notes which rows a pass has seen. */
export function prepareSeen(db: Database, dataset: MirroredDataset): Seen {
  const find = db
    .prepare<[{ rowKey: number }], number | null>(/*sql*/ `SELECT ${seenPass(dataset, '@rowKey')}`)
    .pluck();
  const touching = db.prepare<
    [{ from: number; to: number }],
    Range
  >(/*sql*/ `SELECT from_key AS "from", to_key AS "to", pass_id AS passId FROM ${dataset}_seen
      WHERE from_key >= coalesce((SELECT max(from_key) FROM ${dataset}_seen WHERE from_key < @from), @from)
        AND from_key <= @to + 1 AND to_key >= @from - 1`);
  const put = db.prepare<Range>(/*sql*/ `INSERT INTO ${dataset}_seen (from_key, to_key, pass_id)
      VALUES (@from, @to, @passId) ON CONFLICT DO UPDATE SET to_key = excluded.to_key, pass_id = excluded.pass_id`);
  const remove = db.prepare<[number]>(/*sql*/ `DELETE FROM ${dataset}_seen WHERE from_key = ?`);
  return {
    isSeen: (rowKey, passId) => find.get({ rowKey }) === passId,
    markSeen: (rowKeys, passId) => {
      let newRows = 0;
      for (const near of nearRows(rowKeys)) {
        const old = touching.all({ from: near.at(0) ?? 0, to: near.at(-1) ?? 0 });
        const marked = markRanges(old, runsOf(near, passId));
        newRows += marked.newRows;
        const wanted = new Map(marked.ranges.map((range) => [range.from, range]));
        for (const { from, to, passId: seenBy } of old) {
          const range = wanted.get(from);
          if (!range) remove.run(from);
          else if (range.to === to && range.passId === seenBy) wanted.delete(from);
        }
        for (const range of wanted.values()) put.run(range);
      }
      return newRows;
    },
  };
}

/** The keys in order, each once, in groups that stand near each other. */
function nearRows(rowKeys: readonly number[]): number[][] {
  const groups: number[][] = [];
  let last = -Infinity;
  for (const rowKey of new Set(rowKeys.toSorted((one, other) => one - other))) {
    if (rowKey - last > gapMax) groups.push([]);
    groups.at(-1)?.push(rowKey);
    last = rowKey;
  }
  return groups;
}

function runsOf(rowKeys: readonly number[], passId: number): Range[] {
  const ranges: Range[] = [];
  for (const rowKey of rowKeys) append(ranges, { from: rowKey, to: rowKey, passId });
  return ranges;
}

/** Adds a range behind the others; it grows the last one where that one is of the same pass and ends right before it. */
function append(ranges: Range[], { from, to, passId }: Range): void {
  const last = ranges.at(-1);
  if (last?.passId === passId && last.to === from - 1) last.to = to;
  else ranges.push({ from, to, passId });
}

/** The ranges after a pass has seen runs of rows. A row keeps a later pass. `newRows`: those that had an earlier pass, or none. */
function markRanges(old: readonly Range[], seen: readonly Range[]): { ranges: Range[]; newRows: number } {
  const ranges: Range[] = [];
  let newRows = 0;
  const [before, runs] = [old, seen].map((list) => list.map((range) => ({ ...range }))) as [Range[], Range[]];
  const take = (list: Range[], to: number): Range => {
    const [first] = list as [Range];
    const taken = { ...first, to };
    if (to === first.to) list.shift();
    else first.from = to + 1;
    return taken;
  };
  for (;;) {
    const [range, run] = [before[0], runs[0]];
    if (range && (!run || range.from < run.from)) {
      append(ranges, take(before, Math.min(range.to, (run?.from ?? Infinity) - 1)));
    } else if (run && (!range || run.from < range.from)) {
      const alone = take(runs, Math.min(run.to, (range?.from ?? Infinity) - 1));
      newRows += alone.to - alone.from + 1;
      append(ranges, alone);
    } else if (range && run) {
      const to = Math.min(range.to, run.to);
      const [had, has] = [take(before, to), take(runs, to)];
      if (had.passId < has.passId) newRows += to - has.from + 1;
      append(ranges, had.passId > has.passId ? had : has);
    } else return { ranges, newRows };
  }
}
