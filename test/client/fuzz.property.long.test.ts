import { expect, it } from 'vitest';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { fuzz } from './fuzz.ts';

it.each([
  ['dispatcher', 1500],
  ['sockets', 300],
] as const)(
  'whatever is answered through the %s, it ends in rows, quarantine, or an error without its words',
  async (through, answers) => {
    const { ends } = await fuzz({ answers, seed: 7, largeShare: 1000, through }, openTestMirror().db);
    expect(Object.values(ends).reduce((sum, count) => sum + count, 0)).toBe(answers);
    for (const end of ['page', 'row', 'projects', 'service', 'rejected', 'refused', 'unreachable'])
      expect(ends[end]).toBeGreaterThan(0);
  },
);
