import { describe } from 'vitest';
import { testErasures } from './erase-suite.ts';

describe('a hundred erasures among two thousand persons', { timeout: 180_000 }, () => {
  testErasures({ persons: 2000, recordings: 300, erased: 100, timeoutMs: 180_000 });
});

describe('a hundred erasures among fifty thousand persons', { timeout: 900_000 }, () => {
  testErasures({ persons: 50_000, recordings: 5000, erased: 100, timeoutMs: 900_000 });
});
