import { readPace } from '../../src/client/pace.ts';
import { memoryRequestTimes } from '../../src/client/request-times.ts';
import { openRequestTimes } from '../../src/mirror/request-times.ts';
import { freshFolder, openTestMirror } from '../mirror/open-test-mirror.ts';
import { virtualClock } from '../core/virtual-clock.ts';
import { holdRequestTimes } from './request-times-contract.ts';

holdRequestTimes('in memory', (kept) => {
  const clock = virtualClock();
  const times = memoryRequestTimes(clock, kept);
  return Promise.resolve({ open: () => times, setTo: (ms) => Promise.resolve(clock.setTo(ms)) });
});

holdRequestTimes('in the mirror', (kept) => {
  const clock = virtualClock();
  const dataDir = freshFolder();
  return Promise.resolve({
    open: () => openRequestTimes(openTestMirror(dataDir).db, clock, { ...kept, timeoutMs: 100_000, readPace }),
    setTo: (ms) => Promise.resolve(clock.setTo(ms)),
  });
});
