import { expect, test } from 'vitest';
import { keyAdvice } from '../../src/client/configured-service.ts';

const keyFrom = '`MIRROR_API_KEY`';
const check = 'check `MIRROR_API_KEY`';

test.for([
  ['phx_abc', 'https://analytics.example.com', `${check}; a personal API key is needed`],
  [
    'phc_abc',
    'http://localhost:8000',
    `${check}; the configured key (phc_…) is that of a project, which only sends events: a personal API key is needed`,
  ],
  [
    'phx_abc',
    'https://eu.posthog.com',
    `${check}; a personal API key is needed; an account of us.posthog.com is unknown at eu.posthog.com`,
  ],
] as const)('a refused key %s at %s', ([key, origin, advice]) => {
  expect(keyAdvice({ key, keyFrom, origin })).toBe(advice);
  expect(advice).not.toContain('abc');
});
