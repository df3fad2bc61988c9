import { expect, test } from 'vitest';
import { checkAgreement } from './random-ledger.ts';

test('both verifiers come to the same verdict on 100 random ledgers', async () => {
  const { good, problems } = await checkAgreement(100);
  expect(good).toBeGreaterThan(0);
  expect(problems.size).toBeGreaterThan(8);
});
