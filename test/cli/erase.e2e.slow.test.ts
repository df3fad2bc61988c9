import { describe } from 'vitest';
import { tellErasures } from './erasure-scenario.ts';

describe('a hundred erasures among fifty thousand persons', { timeout: 900_000 }, () => {
  tellErasures({ persons: 50_000, recordings: 5000, erased: 100, timeoutMs: 900_000 });
});
