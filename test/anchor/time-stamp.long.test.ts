import { expect, it } from 'vitest';
import { changedAndRead } from './changed-and-read.ts';
import { timeStampToken, type TokenShape } from './time-stamp-authority.ts';

it.each<TokenShape>([{}, { key: 'authority-ec' }])(
  'a time stamp is none after any change of a byte: %j',
  (shape) => {
    expect(changedAndRead(timeStampToken('text\n', Date.UTC(2026, 10, 20), shape), 1)).toEqual([]);
  },
  600_000,
);
