import { AppError } from '../../src/core/errors.ts';
import type { Clock } from '../../src/core/clock.ts';
import { createBudget } from '../../src/client/budget.ts';
import { createService, type Service } from '../../src/client/service.ts';
import type { Transport } from '../../src/client/transport.ts';
import { readProjects } from '../../src/contract/projects.ts';
import { rowReaders, sightingOf } from '../../src/contract/row-readers.ts';
import type { PagedDataset } from '../../src/contract/datasets.ts';
import type { Database } from '../../src/mirror/database.ts';
import { KnownRow } from '../../src/mirror/fingerprints.ts';
import { boundUnread, identifiersOfUnread } from '../../src/mirror/quarantine.ts';
import { prepareWriteRows } from '../../src/mirror/write-rows.ts';
import { readPage } from '../../src/sync/page.ts';
import { canary } from './fuzzed-answers.ts';

const limit = 5;

/** The program's own limits, but that nothing is asked twice. */
export const limits = { totalTimeoutMs: 4000, bodyBytesMax: 8_388_608 };

/** The service over a transport: one attempt, no budget. A pause that an answer asks for passes at once. */
export function fuzzedService(transport: Transport): Service {
  let nowMs = Date.UTC(2026, 0, 1);
  const clock: Clock = {
    now: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms;
    },
  };
  return createService({
    transport,
    budget: createBudget({ concurrency: 16, windows: [], recordings: { windows: [] } }, clock),
    clock,
    random: Math.random,
    retryLimits: { attemptsMax: 1, totalMs: 1, delayBaseMs: 1, delayMaxMs: 1, retryAfterMaxMs: 60_000 },
    jsonDepthMax: 200,
    jsonValuesMax: limits.bodyBytesMax / 16,
    projectPath: '/api/environments/1',
  });
}

const codes = new Set(['refused', 'quota', 'service', 'oversize', 'unreachable', 'rejected']);

/** Prepares the question that an answer is given to: it says `page` or the code of the refusal, and throws for whatever else. */
export function prepareAsk(service: Service, db: Database): (turn: number) => Promise<string> {
  const passes = db.prepare(
    `INSERT INTO passes (dataset, mode, plan, started_at) VALUES ('persons', 'full', '{}', '2026') RETURNING id`,
  );
  const passId = (passes.get() as { id: number }).id;
  const write = { persons: prepareWriteRows(db, 'persons'), recordings: prepareWriteRows(db, 'recordings') };
  const at = '2026-01-01T00:00:00Z';
  const store = db.transaction((dataset: PagedDataset, shown: Parameters<(typeof write)['persons']>[0]) => {
    write[dataset](shown, passId);
    throw undo;
  });
  const askList = async (dataset: PagedDataset): Promise<string> => {
    const { body } = await service.call(`${dataset}.list`, { query: { limit, offset: 0 } });
    const { rows, quarantined, view } = readPage(body, { offset: 0, limit }, dataset);
    if (view.received > limit || rows.length + quarantined.length !== view.received)
      throw new Error('rows beyond the window');
    for (const row of rows) if (!(row instanceof KnownRow)) sightingOf(dataset, row);
    for (const row of quarantined) {
      if (row.reason.includes(canary) || /[^ -~]/.test(row.reason)) throw new Error('a reason that shows a value');
      identifiersOfUnread(dataset, row.key, boundUnread(dataset, row).payload);
    }
    try {
      store(dataset, { rows, quarantined, at });
    } catch (thrown) {
      if (thrown !== undo) throw thrown;
    }
    return 'page';
  };
  const asks: readonly (() => Promise<string>)[] = [
    () => askList('persons'),
    () => askList('recordings'),
    () => askList('persons'),
    async () => {
      rowReaders.persons((await service.call('persons.retrieve', { params: { id: 1 } })).body);
      return 'row';
    },
    async () => {
      readProjects((await service.call('projects.list')).body);
      return 'projects';
    },
  ];
  return async (turn) => {
    try {
      return (await asks[turn % asks.length]?.()) ?? '';
    } catch (error) {
      if (!(error instanceof AppError) || !codes.has(error.code)) throw error;
      const shown = `${error.message} ${error.hint}`;
      if (shown.includes(canary) || /[^ -~…]/.test(shown))
        throw new Error(`an error that shows the answer: ${error.code}`, { cause: error });
      return error.code;
    }
  };
}

/** Thrown so that a transaction leaves nothing. */
const undo = new Error('undone');
