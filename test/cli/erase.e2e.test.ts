import { describe } from 'vitest';
import { tellErasures } from './erasure-scenario.ts';

describe('a hundred erasures among two thousand persons', { timeout: 180_000 }, () => {
  tellErasures({ persons: 2000, recordings: 300, erased: 100, timeoutMs: 180_000 });
});
