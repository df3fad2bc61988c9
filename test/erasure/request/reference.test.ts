import { expect, it } from 'vitest';
import { requireReferences } from '../../../src/erasure/request/reference.ts';

it.each(['TICKET-812', 'dpo', 'art-17.1', 'https://tickets/812#a', 'x'.repeat(64)])('%s is a reference', (text) => {
  expect(() => requireReferences({ by: text, basis: text })).not.toThrow();
});

it.each(['', 'letter of Johannes', 'li@wu.cn', ' dpo', 'dpo\n', 'Müller', 'a\u0000', 'x'.repeat(65)])(
  '%j is none, and is not repeated',
  (text) => {
    for (const given of [{ by: text }, { basis: text }]) {
      const words = /^--(by|basis) takes a reference: 1 to 64 letters, digits and \. _ : \/ # -, without blanks/;
      expect(() => requireReferences(given)).toThrow(
        expect.objectContaining({ code: 'usage', message: expect.stringMatching(words) }),
      );
      if (text.trim().length > 2) expect(() => requireReferences(given)).not.toThrow(text);
    }
  },
);
