import { describe } from 'vitest';
import { testErasures } from './erase-suite.ts';

describe('forty erasures among eight hundred persons', { timeout: 180_000 }, () => {
  testErasures({ persons: 800, recordings: 120, erased: 40, timeoutMs: 180_000 });
});
