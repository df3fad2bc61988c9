import { expect, it, onTestFinished, vi } from 'vitest';
import { aboveDiskFloor, refuseLowDisk } from '../../src/job/disk-floor.ts';
import { freeBytesAt } from '../../src/core/folder.ts';
import type { JobContext } from '../../src/job/job-context.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

it('refuses a disk below the setting, whatever it is, and no other', () => {
  const dataDir = freshFolder();
  const alerts = { format: 'json' as const, acknowledgeDays: 30 };
  const free = freeBytesAt(`${dataDir}/not/there/yet`);
  expect(free).toBeGreaterThan(0);
  expect(() => refuseLowDisk({ dataDir, alerts: { ...alerts, diskFreeBytesMin: Math.floor(free / 2) } })).not.toThrow();
  expect(() => refuseLowDisk({ dataDir, alerts: { ...alerts, diskFreeBytesMin: free * 2 } })).toThrow(
    expect.objectContaining({
      code: 'storage',
      finding: 'disk_low',
      message: expect.stringMatching(/^only .* are free/) as string,
    }),
  );
});

it('refuses work on such a disk, and stops work under way once the disk is so', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const alerts = { diskFreeBytesMin: 0 };
  const own = { settings: { dataDir: freshFolder(), alerts }, signal: new AbortController().signal } as JobContext;
  const work = aboveDiskFloor(async ({ signal }: JobContext) => {
    vi.advanceTimersByTime(5000);
    signal.throwIfAborted();
    alerts.diskFreeBytesMin = Number.MAX_SAFE_INTEGER;
    vi.advanceTimersByTime(5000);
    signal.throwIfAborted();
  });
  await expect(work(own)).rejects.toMatchObject({ finding: 'disk_low' });
  expect(vi.getTimerCount()).toBe(0);
  const never = vi.fn<() => Promise<void>>();
  await expect(aboveDiskFloor(never)(own)).rejects.toMatchObject({ finding: 'disk_low' });
  expect(never).not.toHaveBeenCalled();
});
