import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import { sha256 } from '../../src/core/digest.ts';
import { failCall } from '../core/failing-call.ts';
import type { Sender } from '../../src/config/sender.ts';
import { readCalledBack } from '../../src/intake/called-back.ts';
import type { CalledBack } from '../../src/intake/callbacks.ts';
import { startIntake } from '../../src/intake/intake.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { callIntake, eraseBody, openIntakeWorld, senderOf } from './intake-world.ts';

/** Starts the intake's thread over the one project of a world, or over several of these names. */
async function start(senders: Sender[], names = ['shop'], port = 0, callbacks: CalledBack[] = []) {
  const world = await openIntakeWorld();
  const errors: string[] = [];
  const fixes: unknown[] = [];
  const intake = await startIntake({
    settings: { host: '127.0.0.1', port, businessId: null, senders },
    projects: names.map((name) => ({ name, dataDir: join(world.dataDir, name), jobContext: world.context })),
    clock: world.clock,
    callbacks,
    onError: (code, _what, fix) => {
      errors.push(code);
      fixes.push(fix);
    },
  });
  onTestFinished(() => intake.close());
  return { world, intake, errors, fixes };
}

it('the thread answers for the project of a sender', async () => {
  const { intake, errors } = await start([senderOf({ project: 'outlet' })], ['shop', 'outlet']);
  const headers = { 'idempotency-key': 'a-key-of-sixteen' };
  const made = await callIntake(intake.url, '/v1/requests', { body: eraseBody('ann@canary.example'), headers });
  expect([made.status, errors]).toEqual([201, []]);
});

it('whom a sender has to be told of is kept before the receipt is answered, without the name of the sender', async () => {
  const called = { name: 'privacy-desk', outcome: false, url: 'https://desk.example.com', secret: Buffer.alloc(32) };
  const { world, intake } = await start([senderOf()], ['shop'], 0, [called]);
  const headers = { 'idempotency-key': 'a-key-of-sixteen' };
  const made = await callIntake(intake.url, '/v1/requests', { body: eraseBody('ann@canary.example'), headers });
  expect(JSON.parse(readFileSync(join(world.dataDir, 'callbacks.json'), 'utf8'))).toEqual({
    [sha256('privacy-desk')]: { open: [], published: null, noted: [made.body['request']], refusedSince: null },
  });
});

it('beside a damaged callbacks.json no receipt is answered, and the same call has it once that file is gone', async () => {
  const called = { name: 'privacy-desk', outcome: false, url: 'https://desk.example.com', secret: Buffer.alloc(32) };
  const { world, intake, errors, fixes } = await start([senderOf({ perHour: 2 })], ['shop'], 0, [called]);
  const file = join(world.dataDir, 'callbacks.json');
  writeFileSync(file, '{"privacy-desk":');
  const post = (key = 'a-key-of-sixteen') => {
    const headers = { 'idempotency-key': key };
    return callIntake(intake.url, '/v1/requests', { body: eraseBody('ann@canary.example'), headers });
  };
  expect((await post()).status).toBe(503);
  expect(errors).toEqual(['storage']);
  expect(fixes).toEqual([expect.stringContaining('restore callbacks.json from a backup, or remove it')]);
  rmSync(file);
  const made = await post();
  expect(made.status).toBe(201);
  const kept = JSON.parse(readFileSync(file, 'utf8')) as Record<string, { noted: string[] }>;
  expect(kept[sha256('privacy-desk')]?.noted).toEqual([made.body['request']]);
  // What was received counts, whatever was answered.
  expect((await post('another-key-of-16')).status).toBe(201);
  expect((await post('a-third-key-of-16')).status).toBe(429);
});

it.each([[['shop', 'outlet']], [['outlet', 'shop']]])(
  'the key of an agent is in the folder of its project, whichever comes first: %j',
  async (names) => {
    const agent = { id: 'AN_AGENT', verifyKey: Buffer.alloc(32).toString('base64') };
    const { world } = await start([senderOf({ project: 'outlet', agent, keys: [] })], names);
    const hasKey = (name: string): boolean => existsSync(join(world.dataDir, name, 'keys', 'intake.key'));
    expect([hasKey('shop'), hasKey('outlet')]).toEqual([false, true]);
  },
);

it('a port that is taken, a project that is not there and one that is not named are told as mistakes of the settings', async () => {
  const { intake } = await start([senderOf()]);
  const { port } = new URL(intake.url);
  const usage = { code: 'usage' };
  await expect(start([senderOf()], ['shop'], Number(port))).rejects.toMatchObject({
    ...usage,
    message: expect.stringMatching(/cannot listen/) as string,
  });
  await expect(start([senderOf({ project: 'other' })])).rejects.toMatchObject(usage);
  await expect(start([senderOf()], ['shop', 'outlet'])).rejects.toMatchObject(usage);
});

it('an intake that cannot begin keeps no process: the worker ends with its mistake', async () => {
  const setInterval = vi.spyOn(globalThis, 'setInterval');
  const { intake } = await start([senderOf()]);
  const { port } = new URL(intake.url);
  await expect(start([senderOf()], ['shop'], Number(port))).rejects.toMatchObject({ code: 'usage' });
  const agent = { id: 'AN_AGENT', verifyKey: Buffer.alloc(32).toString('base64') };
  failCall('openSync', Object.assign(new Error('no'), { code: 'ENOSPC' }), (path) => /intake\.key/.test(String(path)));
  await expect(start([senderOf({ agent, keys: [] })])).rejects.toMatchObject({ code: 'storage' });
  const timers = setInterval.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
  expect(timers).toEqual([false, false, false]);
});

it('a secret of callbacks is read from its file, and refused where it is none', () => {
  const file = join(freshFolder(), 'secret');
  const read = (text: string) => {
    writeFileSync(file, text, { mode: 0o600 });
    return readCalledBack([senderOf({ callback: { url: 'https://desk.example.com', secretFile: file } }), senderOf()]);
  };
  expect(read(`whsec_${'QUJD'.repeat(10)}\n`)).toMatchObject([{ secret: Buffer.from('ABC'.repeat(10)) }]);
  for (const text of ['', 'secret', `whsec_${'QUJD'.repeat(4)}`])
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'usage' }));
});

it.for([
  ['neither key nor agent', { name: 'desk', kinds: ['email'] }],
  ['a key in clear', { name: 'desk', keys: ['secret'], kinds: ['email'] }],
  ['no kind', { name: 'desk', keys: ['a'.repeat(64)], kinds: [] }],
  ['a name with blanks', { name: 'a desk', keys: ['a'.repeat(64)], kinds: ['email'] }],
  [
    'key and agent',
    { name: 'desk', keys: ['a'.repeat(64)], agent: { id: 'A', verifyKey: `${'A'.repeat(43)}=` }, kinds: ['email'] },
  ],
] as const)('a sender with %s is refused', ([, sender]) => {
  expect(() => settingsWith({ 'intake.senders': [sender] })).toThrow(/intake\.senders/);
});

it('two senders with one key are refused', () => {
  const senders = ['one', 'two'].map((name) => ({ name, keys: ['a'.repeat(64)], kinds: ['email'] }));
  expect(() => settingsWith({ 'intake.senders': senders })).toThrow(/two senders/);
});
