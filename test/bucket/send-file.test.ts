import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { sendFile } from '../../src/bucket/send-file.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

it('sends the bytes of a file', async () => {
  const path = join(freshFolder(), 'file');
  writeFileSync(path, 'content');
  expect(await sendFile(path, (body) => text(body))).toBe('content');
  await expect(sendFile(path, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
});

it('a file that has gone ends the call, also where nobody reads it, and not the process', async () => {
  const path = join(freshFolder(), 'file');
  const never = (): Promise<never> => new Promise(() => undefined);
  await expect(sendFile(path, never)).rejects.toMatchObject({ code: 'storage' });
  // It goes while a request is aborted. Vitest fails for an error that nobody hears.
  writeFileSync(path, 'content');
  const aborted = sendFile(path, () => Promise.reject(new Error('aborted')));
  rmSync(path);
  await expect(aborted).rejects.toThrow('aborted');
  await delay(100);
});
