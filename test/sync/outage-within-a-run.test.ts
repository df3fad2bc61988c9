import { expect, it } from 'vitest';
import type { Service } from '../../src/client/service.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { AppError } from '../../src/core/errors.ts';
import { askAgain } from '../../src/sync/absence.ts';

it('an outage that begins within a run, and answers 404 to every id, makes no row gone', async () => {
  const listed = Array.from({ length: 40 }, (_, number) => ({ id: `listed-${number}` }));
  let isOut = false;
  const service: Service = {
    requestCount: () => 0,
    call: async (name, args = {}) => {
      await Promise.resolve();
      if (name !== 'recordings.retrieve')
        return { status: 200, body: { next: null, results: listed }, date: undefined };
      const { id } = (args as unknown as { params: { id: string } }).params;
      isOut ||= id === 'living-4';
      if (isOut || id.startsWith('deleted')) throw new AppError('no row', { code: 'rejected', status: 404 });
      return { status: 200, body: { id }, date: undefined };
    },
  };
  const keys = ['deleted-0', ...Array.from({ length: 30 }, (_, number) => `living-${number}`)];
  const rows = keys.map((key) => ({ key, id: null, createdAt: null, distinctIds: [] }));
  const { settings } = loadSettings({});
  const verdicts = await askAgain({ service, settings, signal: new AbortController().signal }, 'recordings', rows);
  expect([...verdicts].filter(([, verdict]) => verdict === 'gone')).toEqual([['deleted-0', 'gone']]);
});
