import { expect, test } from 'vitest';
import { checkAgreement } from './random-ledger.ts';

test('both verifiers come to the same verdict on 1,000 random ledgers', async () => {
  const { good, problems } = await checkAgreement(1000);
  expect(good).toBeGreaterThan(50);
  expect(problems.size).toBeGreaterThan(22);
});
