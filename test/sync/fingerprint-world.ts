import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { readWhole, type Service } from '../../src/client/service.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { PagedDataset } from '../../src/contract/datasets.ts';
import { nobody, type Identity } from '../../src/contract/identity.ts';
import { rowReaders } from '../../src/contract/row-readers.ts';
import { isoTime, type Clock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { openDatabase, type Database } from '../../src/mirror/database.ts';
import { fenceIdentifiers, liftFence, readEpoch, setEpoch } from '../../src/mirror/fence.ts';
import { KnownRow } from '../../src/mirror/fingerprints.ts';
import type { PassMode } from '../../src/mirror/passes.ts';
import { prepareEraseRows, prepareRemoveRow, trimRecordings } from '../../src/mirror/remove-rows.ts';
import { prepareWriteRows } from '../../src/mirror/write-rows.ts';
import { syncList } from '../../src/sync/sync-list.ts';
import { freshFolder, putEmptyMirror } from '../mirror/open-test-mirror.ts';
import { FingerprintList, pageForms, type Change, type PageForm } from './fingerprint-list.ts';

/** A pass, and what the service does meanwhile. */
type PassStep = {
  do: 'pass';
  mode: PassMode;
  resume: boolean;
  /** Before which of its answers the list changes, and how. */
  changes: readonly { before: number; change: Change }[];
  /** After so many answers the pass is stopped. */
  killedAfter: number | null;
  form: PageForm;
  ignoresOffset: boolean;
  jsonDepthMax: number;
  pageSize: number;
};

export type Step =
  | PassStep
  | { do: 'change'; change: Change }
  | { do: 'fence'; at: number; id: string; what: 'row' | 'id' }
  | { do: 'lift' }
  | { do: 'remove'; at: number }
  | { do: 'shown alone'; at: number; note: string }
  | { do: 'close' };

export type History = { dataset: PagedDataset; size: number; steps: readonly Step[] };

const at = fc.nat({ max: 400 });
const ids = fc.uniqueArray(fc.constantFrom('id 1', 'id 2', 'id 3', 'shared', 'shared too', 'other'), { maxLength: 3 });
const fault = fc.constantFrom(
  'none' as const,
  'none' as const,
  'time' as const,
  'ids' as const,
  'key' as const,
  'deep' as const,
);
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('insert' as const), count: fc.integer({ min: 1, max: 4 }), ids }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('delete' as const, 'note' as const, 'longer' as const, 'big' as const, 'back' as const),
      at,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('repeat' as const, 'late' as const), at }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('fault' as const), at, fault }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('ids' as const), at, ids }) },
  { weight: 1, arbitrary: fc.constant({ do: 'reverse' as const }) },
);
const pass: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('pass' as const),
  mode: fc.constantFrom('full' as const, 'full' as const, 'head' as const),
  resume: fc.boolean(),
  changes: fc.array(fc.record({ before: fc.nat({ max: 12 }), change }), { maxLength: 4 }),
  killedAfter: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat({ max: 8 }) }),
  form: fc.oneof(
    { weight: 8, arbitrary: fc.constant('plain' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...pageForms) },
  ),
  pageSize: fc.constantFrom(12, 12, 12, 120),
  ignoresOffset: fc.nat({ max: 12 }).map((n) => n === 0),
  jsonDepthMax: fc.nat({ max: 24 }).map((n) => (n === 0 ? 6 : 200)),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 14, arbitrary: pass },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('change' as const), change }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('fence' as const),
      at,
      id: fc.constantFrom('id 1', 'shared', 'other', 'made by 3'),
      what: fc.constantFrom('row' as const, 'id' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'lift' }, { do: 'close' }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('shown alone' as const), at, note: fc.constantFrom('1', '2', '30') }),
  },
);

/** Random lives of a list and of the mirror that reads it. Some lists are longer than a block of fingerprints. */
export const history: fc.Arbitrary<History> = fc.record({
  dataset: fc.constantFrom('persons' as const, 'persons' as const, 'recordings' as const),
  size: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 30 }) },
    { weight: 1, arbitrary: fc.integer({ min: 120, max: 150 }) },
  ),
  steps: fc.array(step, { minLength: 4, maxLength: 24 }),
});

/** What a history came to. */
export type Played = { rowsKnown: number; rowsRead: number; passes: number };

/** Plays a history with a mirror that knows rows by their bytes, and with one that parses every row. Throws where they differ. */
export async function playHistory({ dataset, size, steps }: History): Promise<Played> {
  const played: Played = { rowsKnown: 0, rowsRead: 0, passes: 0 };
  const mirrors = [new Mirror(dataset, size, true, played), new Mirror(dataset, size, false, played)] as const;
  try {
    for (const [index, each] of steps.entries()) {
      const [fast, plain] = [await mirrors[0].play(each, index), await mirrors[1].play(each, index)];
      if (!isDeepStrictEqual(fast, plain))
        throw new Error(`step ${index} ends otherwise\n${show(fast)}\nfor\n${show(plain)}`);
      const [known, parsed] = [mirrors[0].dump(), mirrors[1].dump()];
      for (const [name, rows] of Object.entries(parsed))
        if (!isDeepStrictEqual(known[name], rows))
          throw new Error(`after step ${index}, ${name} are\n${show(known[name])}\nfor\n${show(rows)}`);
    }
  } finally {
    for (const mirror of mirrors) mirror.close();
  }
  return played;
}

function show(value: unknown): string {
  return JSON.stringify(value, null, 1);
}

const firstMs = Date.UTC(2026, 0, 1);

/** A mirror, the list that it reads, and the service between them. */
class Mirror {
  private readonly dataDir = freshFolder();
  private readonly list: FingerprintList;
  private readonly dataset: PagedDataset;
  private readonly isFast: boolean;
  private readonly played: Played;
  private nowMs = firstMs;
  private readonly clock: Clock = { now: () => this.nowMs, sleep: () => Promise.resolve() };
  private db: Database;

  constructor(dataset: PagedDataset, size: number, isFast: boolean, played: Played) {
    this.dataset = dataset;
    this.isFast = isFast;
    this.played = played;
    this.list = new FingerprintList(dataset, size);
    putEmptyMirror(this.dataDir);
    this.db = openDatabase(this.dataDir, this.clock);
  }

  close(): void {
    this.db.close();
  }

  async play(step: Step, index: number): Promise<unknown> {
    this.nowMs = firstMs + index * 60_000;
    switch (step.do) {
      case 'pass':
        return this.pass(step);
      case 'change':
        this.list.apply(step.change);
        return null;
      case 'fence':
        return this.fence(index, this.identityOf(step));
      case 'lift':
        return this.db.transaction(() => liftFence(this.db, 'request 1') + liftFence(this.db, 'request 2'))();
      case 'remove':
        return this.atRow(step.at, (rowKey) => prepareRemoveRow(this.db, this.dataset)(rowKey, 'deleted', this.at()));
      case 'shown alone':
        return this.atRow(step.at, (_rowKey, key) => this.showAlone(key, step.note));
      case 'close':
        this.db.close();
        this.db = openDatabase(this.dataDir, this.clock);
        return null;
    }
  }

  private at(): string {
    return isoTime(this.clock.now());
  }

  /** As the program writes a row that it has asked for alone. */
  private showAlone(key: string, note: string): void {
    const id = this.dataset === 'persons' ? 7 : key;
    const read = rowReaders[this.dataset]({ id, uuid: key, distinct_ids: ['other'], properties: { note } });
    if (!read.ok) throw new Error(read.reason);
    prepareWriteRows(this.db, this.dataset)({ rows: [read.columns], quarantined: [], at: this.at() }, 1);
  }

  private atRow(place: number, act: (rowKey: number, key: string) => void): null {
    const key = this.dataset === 'persons' ? 'uuid' : 'id';
    const rows = this.db
      .prepare<[], [number, string]>(`SELECT row_key, ${key} FROM ${this.dataset} ORDER BY row_key`)
      .raw()
      .all();
    const [rowKey, name] = rows[place % Math.max(1, rows.length)] ?? [];
    if (rowKey !== undefined && name !== undefined) this.db.transaction(() => act(rowKey, name))();
    return null;
  }

  private identityOf({ at: place, id, what }: Extract<Step, { do: 'fence' }>): Identity {
    if (what === 'id') return { ...nobody, distinct_id: [id] };
    const key = this.list.keyAt(place);
    return this.dataset === 'persons' ? { ...nobody, person_uuid: [key] } : { ...nobody, recording_id: [key] };
  }

  private fence(index: number, identity: Identity): null {
    const requestId = `request ${index % 3}`;
    const epoch = readEpoch(this.db) + 1;
    this.db.transaction(() => {
      const identifiers = (['person_uuid', 'distinct_id', 'recording_id'] as const).flatMap((kind) =>
        identity[kind].map((value) => ({ kind, value })),
      );
      fenceIdentifiers(this.db, { id: requestId, epoch, at: this.at() }, identifiers);
      prepareEraseRows(this.db)(requestId, identity, this.at());
      for (const _some of trimRecordings(this.db, identity.distinct_id, this.at()));
      setEpoch(this.db, epoch);
    })();
    return null;
  }

  private async pass(step: PassStep): Promise<unknown> {
    const { dataset, mode, resume, jsonDepthMax } = { dataset: this.dataset, ...step };
    const set = [
      { path: `${dataset}.pageSize`, value: step.pageSize },
      { path: `${dataset}.overlap`, value: 4 },
      { path: 'sync.headUnchangedRows', value: 15 },
      { path: 'sync.windowsMax', value: 80 },
      { path: 'budget.concurrency', value: 2 },
      { path: 'service.jsonDepthMax', value: jsonDepthMax },
    ];
    const { settings } = loadSettings({}, { set });
    const { service, stop } = this.serviceOf(step);
    this.played.passes += 1;
    try {
      const parts = { dataset, mode, resume, db: this.db, service, settings, clock: this.clock, signal: stop.signal };
      return await syncList({ ...parts, onProgress: () => undefined, isReference: !this.isFast });
    } catch (error) {
      if (error === killed) return 'killed';
      if (error instanceof AppError) return [error.code, error.message];
      throw error;
    }
  }

  private serviceOf(step: PassStep): { service: Service; stop: AbortController } {
    const stop = new AbortController();
    let answers = 0;
    const call = (_name: unknown, args: Parameters<Service['call']>[1] = {}): unknown => {
      for (const { before, change } of step.changes) if (before === answers) this.list.apply(change);
      if (step.killedAfter === answers) stop.abort(killed);
      answers += 1;
      stop.signal.throwIfAborted();
      const { offset, limit } = args.query as { offset: number; limit: number };
      const bytes = this.list.page(step.ignoresOffset ? 0 : offset, limit, step.form);
      const bounds = { jsonDepthMax: step.jsonDepthMax, jsonValuesMax: 100_000 };
      const body = (args.readJson ?? readWhole)(bytes, bounds);
      if (this.isFast)
        for (const row of (body as { results: unknown[] }).results)
          if (row instanceof KnownRow) this.played.rowsKnown += 1;
          else this.played.rowsRead += 1;
      return { status: 200, body, date: undefined };
    };
    return {
      service: {
        call: async (...asked: unknown[]) => call(asked[0], asked[1] as never),
        requestCount: () => answers,
      } as Service,
      stop,
    };
  }

  /** Everything that a pass writes, but for the fingerprints. */
  dump(): Record<string, unknown[]> {
    const rows = (sql: string): unknown[] => this.db.prepare(sql).raw().all();
    // The indexes that a first pass leaves out are there again when it has a verdict.
    const isUnfinished = rows(`SELECT 1 FROM passes WHERE verdict IS NULL`).length > 0;
    return {
      indexes: isUnfinished ? [] : rows(`SELECT name, sql FROM sqlite_schema WHERE type = 'index' ORDER BY name`),
      rows: rows(`SELECT * FROM ${this.dataset} ORDER BY row_key`),
      changes: rows(`SELECT * FROM changes ORDER BY seq`),
      passes: rows(`SELECT * FROM passes ORDER BY id`),
      seen: rows(`SELECT * FROM ${this.dataset}_seen ORDER BY from_key`),
      suspects: rows(`SELECT * FROM suspects ORDER BY dataset, row_key`),
      quarantine: rows(`SELECT * FROM quarantine ORDER BY dataset, row_id`),
      owners: rows(`SELECT * FROM distinct_id_owners ORDER BY 1, 2`),
      lost: rows(`SELECT * FROM distinct_ids_lost ORDER BY 1, 2`),
      deletions: rows(`SELECT * FROM deletions ORDER BY seq`),
      fence: rows(
        `SELECT kind, request_id, epoch, fenced_at, hits, recreated, last_hit_at FROM fence ORDER BY 1, 2, 3, 4, 5, 6, 7`,
      ),
    };
  }
}

const killed = new Error('killed');
