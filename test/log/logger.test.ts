import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger, eventText } from '../../src/log/logger.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

/** The lines that a logger of the given level writes. */
function loggerTo(level: string) {
  const written: string[] = [];
  const log = createLogger({ level, isTerminal: false, destination: { write: (text) => written.push(text) } });
  return { log, written };
}

test('a line is one JSON object of level, time, fields and message, and nothing of the machine', () => {
  const { log, written } = loggerTo('info');
  log.info({ dataset: 'persons', rows: 12 }, 'pass ended\nwell');
  expect(written).toHaveLength(1);
  expect(written[0]).toMatch(/^[^\n]+\n$/);
  expect(JSON.parse(written[0] ?? '')).toEqual({
    level: 30,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
    dataset: 'persons',
    rows: 12,
    msg: 'pass ended\nwell',
  });
});

test('what is below the level is not written', () => {
  const { log, written } = loggerTo('warn');
  log.info('quiet');
  log.warn('loud');
  log.error('louder');
  expect(written.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['loud', 'louder']);
});

test('a silent logger writes nothing', () => {
  const { log, written } = loggerTo('silent');
  log.fatal('unheard');
  expect(written).toEqual([]);
});

test('a child’s fields are on each of its lines', () => {
  const { log, written } = loggerTo('info');
  log.child({ run: 7 }).info('began');
  expect(JSON.parse(written[0] ?? '')).toMatchObject({ run: 7, msg: 'began' });
});

test('on a terminal an event is one line: the message, then its fields', () => {
  expect(eventText({ level: 30, time: 0, msg: 'run ended', job: 'head', requests: 5, seconds: 0.8 })).toBe(
    'run ended job=head requests=5 seconds=0.8',
  );
  expect(eventText({ level: 50, time: 0, msg: 'failed', list: ['a\nb'] })).toBe('failed list=["a\\nb"]');
});

test('on a terminal an event is one line, which clears the progress bar that may stand there', () => {
  const written: string[] = [];
  const destination = { write: (text: string) => written.push(text) };
  createLogger({ level: 'info', isTerminal: true, destination }).info({ job: 'sync', requests: 7 }, 'run ended');
  expect(written).toHaveLength(1);
  expect(written[0]?.startsWith('\r\u001B[2K')).toBe(true);
  expect(written[0]?.trimEnd()).not.toContain('\n');
  expect(written[0]).toContain('run ended');
});

test('what cannot be written is lost, and whoever logs it goes on', () => {
  const path = join(freshFolder(), 'log');
  writeFileSync(path, '');
  // A file that was opened for reading takes no line, like a full disk.
  const unwritable = openSync(path, 'r');
  const script = `const { createLogger } = await import(${JSON.stringify(new URL('../../src/log/logger.ts', import.meta.url).href)});
    const log = createLogger({ level: 'info', isTerminal: false });
    for (let line = 0; line < 3; line += 1) log.info('lost');
    process.stdout.write('went on');`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', unwritable],
  });
  closeSync(unwritable);
  expect([status, stdout]).toEqual([0, 'went on']);
});
