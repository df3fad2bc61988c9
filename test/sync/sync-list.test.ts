import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBudget } from '../../src/client/budget.ts';
import { createService, readWhole, type Reply, type Service } from '../../src/client/service.ts';
import { openTransport, type Transport } from '../../src/client/transport.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { isoTime, systemClock } from '../../src/core/clock.ts';
import { parseDeepJson } from '../../src/core/deep-json.ts';
import { AppError } from '../../src/core/errors.ts';
import type { PagedDataset } from '../../src/contract/datasets.ts';
import { describeField, Person } from '../../src/contract/resources.ts';
import type { Database } from '../../src/mirror/database.ts';
import { untoldPlaylists, type Pass } from '../../src/mirror/passes.ts';
import { replacePlaylistRecordings } from '../../src/mirror/write-rows.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { syncList } from '../../src/sync/sync-list.ts';
import { beginPlaylistPass, syncPlaylists } from '../../src/sync/sync-playlists.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

let sandbox: Sandbox;
let transport: Transport;
let service: Service;

const limits = { totalTimeoutMs: 10_000, bodyBytesMax: 1e8 };
const retryLimits = { attemptsMax: 1, delayBaseMs: 1, delayMaxMs: 1, totalMs: 1000, retryAfterMaxMs: 60_000 };

beforeAll(async () => {
  sandbox = await startSandbox({ persons: 1203, recordings: 350, seed: 3, port: 0, hostile: true });
  transport = openTransport(sandbox.url, sandbox.apiKey, 2, limits);
  const budget = createBudget({ concurrency: 2, windows: [], recordings: { windows: [] } }, systemClock);
  const projectPath = `/api/environments/${sandbox.projectId}`;
  service = createService({
    transport,
    budget,
    clock: systemClock,
    random: Math.random,
    retryLimits,
    jsonDepthMax: 200,
    jsonValuesMax: 1_000_000,
    projectPath,
  });
});

afterAll(async () => {
  await transport.close();
  await sandbox.close();
});

type Options = {
  resume?: boolean;
  mode?: 'full' | 'head';
  pageSize?: number;
  headUnchangedRows?: number;
  through?: Service;
  signal?: AbortSignal;
};

function sync(db: Database, dataset: PagedDataset, options: Options = {}): Promise<Pass> {
  const {
    resume = true,
    mode = 'full',
    pageSize = 100,
    headUnchangedRows = 150,
    through = service,
    signal = new AbortController().signal,
  } = options;
  const { settings } = loadSettings(
    {},
    {
      set: [
        { path: `${dataset}.pageSize`, value: pageSize },
        { path: 'sync.headUnchangedRows', value: headUnchangedRows },
      ],
    },
  );
  return syncList({
    dataset,
    mode,
    resume,
    db,
    service: through,
    settings,
    clock: systemClock,
    signal,
    onProgress: () => undefined,
  });
}

/** The service, until it has answered so often. Then every call fails, as when the program is killed. */
function serviceUntil(answers: number): Service {
  let left = answers;
  return {
    ...service,
    call: (name, args) => {
      left -= 1;
      return left < 0 ? Promise.reject(new AppError('gone', { code: 'unreachable' })) : service.call(name, args);
    },
  };
}

const content = (db: Database, table: string): unknown[] =>
  db
    .prepare<[], Record<string, unknown>>(`SELECT * FROM ${table} ORDER BY 2`)
    .all()
    .map(({ row_key, first_seen_pass, changed_at, ...row }) => row);

/** A person as the service tells it, as JSON text: the numbers of its properties are more exact than a double. */
const served = async (id: unknown): Promise<string> =>
  JSON.stringify((await service.call('persons.retrieve', { params: { id: Number(id) } })).body);

describe('a pass over the documented service', () => {
  it('mirrors every person, field by field', async () => {
    const { db } = openTestMirror();
    const pass = await sync(db, 'persons');
    expect(pass).toMatchObject({
      verdict: 'complete',
      reason: null,
      rowsAdded: 1203,
      rowsQuarantined: 0,
      countReported: 1203,
      isOrdered: true,
    });
    // The last window confirms the end of the list.
    expect(pass.windows).toBe(1 + Math.ceil((1203 - 100) / 95) + 1);
    expect(pass.seams).toBe(pass.windows - 2);
    const rows = db
      .prepare<[], Record<string, string | number | null>>(`SELECT * FROM persons ORDER BY uuid LIMIT 40`)
      .all();
    for (const row of rows) {
      const fields = Object.entries(Person.shape).map(([name, field]) => {
        const isJson = ['json', 'text_list'].includes(describeField(field).kind);
        return `"${name}":${isJson ? row[name] : JSON.stringify(row[name])}`;
      });
      expect(await served(row['id'])).toBe(`{${fields.join(',')}}`);
    }
    const distinctIds = db
      .prepare<[], number>(`SELECT sum(json_array_length(distinct_ids)) FROM persons`)
      .pluck()
      .get();
    expect(db.prepare(`SELECT count(*) FROM person_distinct_ids`).pluck().get()).toBe(distinctIds);
  });

  it('takes nothing from an answer with more rows than were asked for, and can go on later', async () => {
    const { db } = openTestMirror();
    const answers = async (rows: number): Promise<Reply> => {
      const reply = await service.call('persons.list', { query: { limit: rows, offset: 0 } });
      return { ...reply, body: { ...(reply.body as object), next: '/?offset=100' } };
    };
    const generous: Service = { ...service, call: () => answers(101) };
    const refusal = {
      code: 'service',
      finding: 'too_many_rows',
      message: expect.stringContaining('101 rows') as string,
    };
    await expect(sync(db, 'persons', { through: generous })).rejects.toMatchObject(refusal);
    expect(content(db, 'persons')).toEqual([]);
    expect(await sync(db, 'persons')).toMatchObject({ verdict: 'complete', rowsAdded: 1203 });
  });

  it('keeps numbers in properties digit for digit', async () => {
    const { db } = openTestMirror();
    await sync(db, 'persons');
    expect(
      db.prepare(`SELECT count(*) FROM persons WHERE properties LIKE '%9007199254740993%'`).pluck().get(),
    ).toBeGreaterThan(0);
  });

  it('mirrors recordings with the person they embed', async () => {
    const { db } = openTestMirror();
    const pass = await sync(db, 'recordings');
    expect(pass).toMatchObject({ verdict: 'complete', rowsAdded: 350, rowsQuarantined: 0 });
    expect(db.prepare(`SELECT count(*) FROM recordings WHERE person_uuid = person ->> 'uuid'`).pluck().get()).toBe(350);
  });

  it('changes nothing the second time', async () => {
    const { db } = openTestMirror();
    await sync(db, 'persons');
    const before = db.prepare(`SELECT max(seq) FROM changes`).pluck().get();
    expect(await sync(db, 'persons')).toMatchObject({ verdict: 'complete', rowsAdded: 0, rowsChanged: 0, id: 2 });
    expect(db.prepare(`SELECT max(seq) FROM changes`).pluck().get()).toBe(before);
  });

  it.each([1, 2, 5, 11])('ends in the same mirror when it was stopped after %i pages and resumed', async (pages) => {
    const { db: undisturbed } = openTestMirror();
    await sync(undisturbed, 'persons');
    const { db } = openTestMirror();
    await expect(sync(db, 'persons', { through: serviceUntil(pages) })).rejects.toThrow('gone');
    const resumed = await sync(db, 'persons');
    expect(resumed).toMatchObject({ id: 1, verdict: 'complete', rowsAdded: 1203, windows: 14 });
    expect(content(db, 'persons')).toEqual(content(undisturbed, 'persons'));
  });

  it('begins anew when told to, or when it is to be walked differently', async () => {
    const { db } = openTestMirror();
    await expect(sync(db, 'persons', { through: serviceUntil(3) })).rejects.toThrow('gone');
    expect((await sync(db, 'persons', { resume: false })).id).toBe(2);
    await expect(sync(db, 'persons', { through: serviceUntil(3) })).rejects.toThrow('gone');
    expect((await sync(db, 'persons', { pageSize: 200 })).id).toBe(4);
    expect(db.prepare(`SELECT id, reason FROM passes ORDER BY id`).raw().all()).toEqual([
      [1, 'superseded'],
      [2, null],
      [3, 'superseded'],
      [4, null],
    ]);
  });

  it('begins anew when another version of the program left the pass', async () => {
    const { db } = openTestMirror();
    await expect(sync(db, 'persons', { through: serviceUntil(3) })).rejects.toThrow('gone');
    db.exec(`UPDATE passes SET cursor = json_set(cursor, '$.later', 1)`);
    expect(await sync(db, 'persons')).toMatchObject({ id: 2, verdict: 'complete', windows: 14 });
  });

  it('a head pass stops at known rows and judges nothing', async () => {
    const { db } = openTestMirror();
    await sync(db, 'persons');
    const head = await sync(db, 'persons', { mode: 'head' });
    expect(head).toMatchObject({ verdict: 'incomplete', reason: 'head', rowsChanged: 0 });
    expect(head.rowsReceived).toBe(200);
  });

  it('a head pass that comes to the end of its list judges nothing either', async () => {
    const { db } = openTestMirror();
    await sync(db, 'persons');
    db.exec(`UPDATE persons SET uuid = 'ffffffff-0000-4000-8000-000000000000' WHERE row_key = 1`);
    const unseen = /*sql*/ `SELECT count(*) FROM suspects`;
    const head = await sync(db, 'persons', { mode: 'head', headUnchangedRows: 1e6 });
    expect(head).toMatchObject({ verdict: 'incomplete', reason: 'head', rowsDistinct: 1203 });
    expect(db.prepare(unseen).pluck().get()).toBe(0);
    await sync(db, 'persons');
    expect(db.prepare(unseen).pluck().get()).toBe(1);
  });

  it.each([2000, 100])('counts each row once, also those that cannot be read, in pages of %i', async (pageSize) => {
    const { db } = openTestMirror();
    await sync(db, 'persons', { pageSize: 500 });
    const shown = new Set<unknown>();
    const changed: Service = {
      ...service,
      call: async (name, args) => {
        const { body, ...reply } = await service.call(name, { ...args, readJson: readWhole });
        const { results, ...page } = body as { results: Record<string, unknown>[] };
        const left = results.filter(({ id }) => Number(id) % 10 !== 0);
        for (const { id } of left) shown.add(id);
        // Some rows that were mirrored can no longer be read, and neither can some that never were.
        for (const row of left) {
          const last = Number(row['id']) % 10;
          if (last === 1 || last === 2) row['distinct_ids'] = 5;
          if (last === 2) row['uuid'] = `ffffffff${String(row['uuid']).slice(8)}`;
        }
        return { ...reply, body: { ...page, results: left } };
      },
    };
    const pass = await sync(db, 'persons', { pageSize, through: changed });
    expect(pass).toMatchObject({ reason: 'count_not_reached', countReported: 1203, rowsDistinct: shown.size });
  });

  it('counts no row twice, and finds its end, where a pass over a list that is not newest first is taken up again', async () => {
    const { body } = await service.call('persons.list', { query: { limit: 2000, offset: 0 } });
    const rows = (body as { results: Record<string, unknown>[] }).results.slice(0, 600).toReversed();
    for (const row of rows.filter((_row, index) => index % 10 === 0)) row['distinct_ids'] = 5;
    const walked = async (db: Database, answers: number, count?: number): Promise<Pass> => {
      let left = answers;
      const through: Service = {
        ...service,
        call: async (name, args) => {
          if ((left -= 1) < 0) throw new AppError('gone', { code: 'unreachable' });
          const reply = await service.call(name, { ...args, readJson: readWhole });
          const { limit = 0, offset = 0 } = (args as { query: { limit?: number; offset?: number } }).query;
          const next = offset + limit < rows.length ? `/?offset=${offset + limit}` : null;
          return { ...reply, body: { next, results: rows.slice(offset, offset + limit), ...(count ? { count } : {}) } };
        },
      };
      return sync(db, 'persons', { pageSize: 50, through }).catch(() => walked(db, answers, count));
    };
    for (const count of [undefined, 640]) {
      const atOnce = await walked(openTestMirror().db, Infinity, count);
      const inPieces = await walked(openTestMirror().db, 9, count);
      expect(atOnce).toMatchObject({ reason: count ? 'count_not_reached' : null, rowsDistinct: 600 });
      expect(inPieces).toMatchObject({ reason: atOnce.reason, rounds: atOnce.rounds });
      expect(inPieces.rowsDistinct).toBeLessThanOrEqual(600);
    }
  });

  it('stops between pages when it is interrupted, and keeps what it has', async () => {
    const { db } = openTestMirror();
    const controller = new AbortController();
    const through: Service = {
      ...service,
      call: async (name, args) => {
        const reply = await service.call(name, args);
        if (Number(db.prepare(`SELECT count(*) FROM persons`).pluck().get()) >= 195)
          controller.abort(new AppError('stop', { code: 'interrupted' }));
        return reply;
      },
    };
    await expect(sync(db, 'persons', { through, signal: controller.signal })).rejects.toThrow('stop');
    expect(await sync(db, 'persons')).toMatchObject({ id: 1, verdict: 'complete', rowsAdded: 1203 });
  });
});

describe('a pass over the playlists', () => {
  const playlists = (db: Database, shortIds: readonly string[], through = service) =>
    syncPlaylists(
      { db, service: through, clock: systemClock, signal: new AbortController().signal },
      beginPlaylistPass({ db, clock: systemClock }, shortIds),
    );

  it('mirrors each, and says that the documented service tells no recordings', async () => {
    const { db } = openTestMirror();
    const { pass, membershipsTold } = await playlists(db, sandbox.playlists);
    expect(pass).toMatchObject({ verdict: 'complete', rowsAdded: sandbox.playlists.length });
    expect(pass.untold).toEqual(sandbox.playlists.map((shortId) => ({ shortId, reason: 'no_list' })));
    expect(membershipsTold).toBe(0);
    expect(db.prepare(`SELECT count(*) FROM playlist_recordings`).pluck().get()).toBe(0);
  });

  it('goes on where it gave way, also in the middle of a playlist, and reads no other one twice', async () => {
    const { db } = openTestMirror();
    const asked: string[] = [];
    const pass = beginPlaylistPass({ db, clock: systemClock }, sandbox.playlists);
    /** Until it has asked so often. */
    const part = async (requests: number): Promise<unknown> => {
      const controller = new AbortController();
      const through: Service = {
        ...service,
        call: async (name, args) => {
          asked.push(`${name} ${JSON.stringify(args?.params)}`);
          if (asked.length === requests) controller.abort(new AppError('stop', { code: 'interrupted' }));
          return service.call(name, { ...args, signal: controller.signal });
        },
      };
      return syncPlaylists({ db, service: through, clock: systemClock, signal: controller.signal }, pass);
    };
    // The second request of the first playlist, and the first of the second one.
    for (const requests of [2, 5]) await expect(part(requests)).rejects.toThrow('stop');
    expect(await part(Infinity)).toMatchObject({ pass: { verdict: 'complete', rowsAdded: sandbox.playlists.length } });
    const [first = '', second = ''] = sandbox.playlists;
    const twice = asked.filter((each, at) => asked.indexOf(each) < at);
    const naming = (what: string, short_id: string): string => `playlists.${what} ${JSON.stringify({ short_id })}`;
    expect(twice).toEqual([naming('retrieve', first), naming('recordings', first), naming('retrieve', second)]);
  });

  it('mirrors the recordings where the service tells them', async () => {
    const { db } = openTestMirror();
    const [first = ''] = sandbox.playlists;
    let members = ['a', 'b'];
    let more = {};
    let hidden = 0;
    let counted = {};
    const through: Service = {
      ...service,
      call: async (name, args) => {
        const shown = { results: members.map((id) => ({ id })), has_next: false, ...more };
        if (name === 'playlists.recordings') return { status: 200, date: undefined, body: shown };
        const reply = await service.call(name, args);
        const collection = { count: members.length + hidden, watched_count: 0, ...counted };
        return { ...reply, body: { ...(reply.body as object), recordings_counts: { collection } } };
      },
    };
    expect((await playlists(db, [first], through)).membershipsTold).toBe(1);
    members = ['b', 'c'];
    await playlists(db, [first], through);
    const stored = db.prepare(`SELECT recording_id FROM playlist_recordings ORDER BY 1`).pluck();
    expect(stored.all()).toEqual(['b', 'c']);
    // A part of them is told.
    for (const [shown, cut] of [
      ['c', { count: 2 }],
      ['d', { has_next: true }],
      ['e', { next: 'https://analytics.example.com/2' }],
    ] as const) {
      [members, more] = [[shown], cut];
      const { pass, membershipsTold } = await playlists(db, [first], through);
      expect(membershipsTold).toBe(0);
      expect(pass).toMatchObject({ verdict: 'complete', untold: [{ shortId: first, reason: 'cut' }] });
    }
    expect(stored.all()).toEqual(['b', 'c', 'd', 'e']);
    expect(untoldPlaylists(db, [first])).toEqual([first]);
    [members, more] = [['e'], {}];
    expect((await playlists(db, [first], through)).pass.untold).toEqual([]);
    expect(stored.all()).toEqual(['e']);
    // It counts an entry that it does not show: of a recording that is gone, or older than it looks back.
    [members, hidden] = [['f'], 1];
    const { pass } = await playlists(db, [first], through);
    expect(pass.untold).toEqual([{ shortId: first, reason: 'cut' }]);
    expect(stored.all()).toEqual(['e', 'f']);
    expect(untoldPlaylists(db, [first, 'never asked for'])).toEqual([first, 'never asked for']);
    // What it hides stays hidden when it is configured no more, also after passes without it.
    const others = sandbox.playlists.slice(1, 2);
    expect(untoldPlaylists(db, [])).toEqual([first]);
    await playlists(db, others);
    expect(untoldPlaylists(db, [])).toEqual([first]);
    expect(untoldPlaylists(db, others)).toEqual([...others, first]);
    [members, hidden] = [['f'], 0];
    await playlists(db, [first], through);
    expect(untoldPlaylists(db, [])).toEqual([]);
    // A service that could not count says nothing of what it does not show. It says null of the count of an empty one, too.
    [members, counted] = [[], { count: null, watched_count: null }];
    expect((await playlists(db, [first], through)).pass.untold).toEqual([{ shortId: first, reason: 'cut' }]);
    expect(stored.all()).toEqual(['f']);
    counted = { count: null };
    expect((await playlists(db, [first], through)).pass.untold).toEqual([]);
    expect(stored.all()).toEqual([]);
  });

  // An erasure found neither the entry nor the recording then, and an id that is no text ended every export.
  it('knows whose an entry is that cannot be read, and leaves out one whose id cannot be kept', async () => {
    const { db } = openTestMirror();
    const [first = ''] = sandbox.playlists;
    const uuid = '018f0000-0000-4000-8000-00000000000a';
    const deep = parseDeepJson('[[1]]', 1);
    const results = [
      { id: 'a', distinct_id: 'ann', person: { uuid }, click_count: 'many' },
      { id: 'b', distinct_id: 5, person: { uuid } },
      { id: 'c', distinct_id: 'ann', person: { uuid, properties: deep } },
      { id: '\ud800' },
      { id: 'nul\0' },
    ];
    const through: Service = {
      ...service,
      call: (name, args) =>
        name === 'playlists.recordings'
          ? Promise.resolve({ status: 200, date: undefined, body: { results, has_next: false } })
          : service.call(name, args),
    };
    const { pass } = await playlists(db, [first], through);
    expect(pass.untold).toEqual([{ shortId: first, reason: 'cut' }]);
    expect(db.prepare(`SELECT recording_id, person_uuid, distinct_id FROM playlist_recordings`).raw().all()).toEqual([
      ['a', uuid, 'ann'],
      ['b', uuid, null],
      ['c', uuid, 'ann'],
    ]);
  });

  it('reads the others where the service fails at one, and fails at the end', async () => {
    const { db } = openTestMirror();
    const [first = '', second = ''] = sandbox.playlists;
    const through: Service = {
      ...service,
      call: (name, args) =>
        JSON.stringify(args).includes(first)
          ? Promise.reject(new AppError('no', { code: 'service', status: 500 }))
          : service.call(name, args),
    };
    await expect(playlists(db, [first, second], through)).rejects.toMatchObject({ status: 500 });
    expect(db.prepare(`SELECT short_id FROM playlists`).pluck().all()).toEqual([second]);
  });

  it('is not ended by a playlist whose recordings are refused, and keeps those that it has', async () => {
    const { db } = openTestMirror();
    const [first = '', second = ''] = sandbox.playlists;
    await playlists(db, [first, second]);
    replacePlaylistRecordings(db, first, [{ id: 'a', person_uuid: null, distinct_id: null }], isoTime(0));
    const through: Service = {
      ...service,
      call: (name, args) =>
        name === 'playlists.recordings'
          ? Promise.reject(new AppError('no', { code: 'refused', status: 403 }))
          : service.call(name, args),
    };
    const { pass } = await playlists(db, [first, second], through);
    expect(pass).toMatchObject({
      verdict: 'complete',
      rowsReceived: 2,
      untold: [
        { shortId: first, reason: 'refused' },
        { shortId: second, reason: 'refused' },
      ],
    });
    expect(db.prepare(`SELECT recording_id FROM playlist_recordings`).pluck().all()).toEqual(['a']);
  });

  it('reads the others where one is refused, and is refused where all are', async () => {
    const { db } = openTestMirror();
    const [first = '', second = ''] = sandbox.playlists;
    const refusing = (...shortIds: string[]): Service => ({
      ...service,
      call: (name, args) =>
        shortIds.some((shortId) => JSON.stringify(args).includes(shortId))
          ? Promise.reject(new AppError('no', { code: 'refused', status: 403 }))
          : service.call(name, args),
    });
    const { pass } = await playlists(db, [first, second], refusing(first));
    const untold = expect.arrayContaining([{ shortId: first, reason: 'refused' }]) as unknown;
    expect(pass).toMatchObject({ verdict: 'incomplete', reason: 'not_found', rowsReceived: 1, untold });
    expect(db.prepare(`SELECT short_id FROM playlists`).pluck().all()).toEqual([second]);
    await expect(playlists(db, [first, second], refusing(first, second))).rejects.toMatchObject({ code: 'refused' });
  });

  it('is incomplete when one is shown under another short id, and keeps its copy', async () => {
    const { db } = openTestMirror();
    const [first = '', second = ''] = sandbox.playlists;
    await playlists(db, [first]);
    const through: Service = {
      ...service,
      call: (name, args) => service.call(name, { ...args, params: { short_id: second } } as typeof args),
    };
    const { pass } = await playlists(db, [first], through);
    expect(pass).toMatchObject({ verdict: 'incomplete', reason: 'not_found', rowsReceived: 0 });
    expect(db.prepare(`SELECT short_id FROM playlists`).pluck().all()).toEqual([first]);
  });

  it('is incomplete when one is unknown, and keeps its copy', async () => {
    const { db } = openTestMirror();
    const { pass } = await playlists(db, ['nosuch', ...sandbox.playlists]);
    expect(pass).toMatchObject({ verdict: 'incomplete', reason: 'not_found', rowsAdded: sandbox.playlists.length });
  });
});

it('ends incomplete once more rows cannot be read than are kept, with what could be read', async () => {
  const { db } = openTestMirror();
  let asked = 0;
  // Each page has one row that can be read, and 999 that cannot.
  const broken: Service = {
    ...service,
    call: (_name, { query } = {}) => {
      const { limit, offset } = query as { limit: number; offset: number };
      asked += 1;
      const results = Array.from({ length: limit }, (_row, index) => ({
        uuid: `00000000-0000-4000-8000-${String(offset + index).padStart(12, '0')}`,
        distinct_ids: index === 0 ? ['ann'] : 5,
        created_at: new Date(Date.UTC(2026, 0, 1) - (offset + index) * 1000).toISOString(),
      }));
      return Promise.resolve({ status: 200, date: undefined, body: { results, next: `/?offset=${offset + limit}` } });
    },
  };
  const pass = await sync(db, 'persons', { through: broken, pageSize: 1000 });
  expect(pass).toMatchObject({ verdict: 'incomplete', reason: 'too_many_unreadable' });
  expect(pass.rowsQuarantined).toBeGreaterThan(10_000);
  expect(asked).toBeLessThan(16);
  expect(db.prepare(`SELECT count(*) FROM quarantine`).pluck().get()).toBe(10_000);
  expect(content(db, 'persons')).toHaveLength(pass.rowsAdded);
  expect(content(db, 'suspects')).toEqual([]);
});
