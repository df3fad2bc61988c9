import { describe } from 'vitest';
import { testErasures } from './erase-suite.ts';

describe('a hundred erasures among fifty thousand persons', { timeout: 900_000 }, () => {
  testErasures({ persons: 50_000, recordings: 5000, erased: 100, timeoutMs: 900_000 });
});
