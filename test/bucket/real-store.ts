import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** The keys of the store, which the official chain finds in the environment. */
export const storeKeys = { AWS_ACCESS_KEY_ID: 'bucket-of-test', AWS_SECRET_ACCESS_KEY: 'secret-that-no-log-shows' };

/** Starts a real store (versitygw, which `.ci/store` builds) below a folder, on a free port of loopback. */
export async function startStore(folder: string): Promise<{ url: string; pid: number; stop: () => void }> {
  const port = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });
  for (const name of ['objects', 'versions']) mkdirSync(join(folder, name));
  const child = spawn(
    process.env['BUCKET_STORE'] ?? 'versitygw',
    [
      '--port',
      `127.0.0.1:${port}`,
      '--quiet',
      'posix',
      '--versioning-dir',
      join(folder, 'versions'),
      join(folder, 'objects'),
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        ROOT_ACCESS_KEY: storeKeys.AWS_ACCESS_KEY_ID,
        ROOT_SECRET_KEY: storeKeys.AWS_SECRET_ACCESS_KEY,
      },
    },
  );
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100; tries += 1) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return { url, pid: child.pid ?? 0, stop: () => child.kill() };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the store does not start');
}
