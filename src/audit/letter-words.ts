import type { TargetResult } from '../ledger/vocabulary.ts';

/** What became of a target, by result; no sentence where there was nothing to do, or nothing is left to say. */
type Results = Readonly<Partial<Record<TargetResult, string>>>;

/** The sentences of a letter in one language. What stands in [brackets] is for the sender to fill in. */
export type LetterWords = {
  sender: { controller: string; contact: string };
  subject: (law: string, reference: string) => string;
  laws: Readonly<Record<'gdpr' | 'ccpa', string>>;
  greeting: string;
  asked: (day: string) => string;
  done: string;
  here: Readonly<Record<'verified' | 'observed', (day: string) => string>>;
  person: Results;
  events: Results;
  recordings: Results;
  bucket: Results;
  /** Of a copy on another machine that nobody could look at. */
  copies: string;
  late: (due: string) => string;
  remains: string;
  /** What was left to another person. */
  shared: string;
  hashes: string;
  notHere: string;
  recipients: string;
  noRecipients: string;
  acknowledged: (day: string) => string;
  silent: string;
  rights: string;
  proof: (sha256: string) => string;
  closing: string;
};
