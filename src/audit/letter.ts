import { usageError } from '../core/errors.ts';
import { acknowledgementsOf } from '../erasure/acknowledge.ts';
import { isLate } from '../ledger/request-history.ts';
import { isHere, readTarget } from '../ledger/target.ts';
import type { TargetResult } from '../ledger/vocabulary.ts';
import type { IssuedCertificate } from './certificate-page.ts';
import { german } from './letter-de.ts';
import { english } from './letter-en.ts';
import { spanish } from './letter-es.ts';
import { french } from './letter-fr.ts';
import type { LetterWords } from './letter-words.ts';

/** The languages of a letter. */
export const letterLanguages = ['en', 'de', 'fr', 'es'] as const;
export type LetterLanguage = (typeof letterLanguages)[number];

/** The sentences of a letter, by language. */
export const letterWords: Readonly<Record<LetterLanguage, LetterWords>> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
};

/**
 * A letter to the person whose erasure a certificate proves (Art. 12(3) GDPR), as text, made of the certificate's codes and of what the
 * ledger has now: it has no personal data. What stands in [brackets] is for the sender to fill in. Throws `usage` where nobody asked
 * for the erasure.
 */
export function letterText(
  { certificate, sha256, history }: Pick<IssuedCertificate, 'certificate' | 'sha256' | 'history'>,
  { language, now }: { language: LetterLanguage; now: string },
): string {
  const { origin, basis, request, targets, stated } = certificate;
  if (origin !== 'manual')
    throw usageError(
      `request ${request} was made by this program: nobody asked for it`,
      'write to those who have asked; `analytics-mirror erase list --all` names who did',
    );
  const words = letterWords[language];
  const day = (at: string): string =>
    new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(at));
  const saidOf = (target: string, says: Readonly<Partial<Record<TargetResult, string>>>): string[] => {
    const result = targets.find((end) => end.target === target)?.result;
    const sentence = result && says[result];
    return sentence === undefined ? [] : [sentence];
  };
  const isProved = targets
    .filter(({ target }) => isHere(readTarget(target)))
    .every(({ assurance }) => assurance === 'verified');
  const done = [
    words.here[isProved ? 'verified' : 'observed'](day(certificate.locally_verified_at)),
    ...saidOf('upstream.person', words.person),
    ...saidOf('upstream.events', words.events),
    ...saidOf('upstream.recordings', words.recordings),
    ...saidOf('bucket', words.bucket),
    ...(targets.some(({ target, assurance }) => target === 'copies' && assurance === 'not_verifiable')
      ? [words.copies]
      : []),
    ...(isLate(history) ? [words.late(day(certificate.due_at))] : []),
  ];
  const told = acknowledgementsOf(history, []).map(
    ({ consumer, acknowledgedAt: at }) => `${consumer}: ${at === null ? words.silent : words.acknowledged(day(at))}`,
  );
  const sender = [
    stated.controller?.name ?? words.sender.controller,
    stated.controller?.contact ?? words.sender.contact,
  ];
  const law = words.laws[basis === 'consumer_request' ? 'ccpa' : 'gdpr'];
  const parts = [
    `${sender.join('\n')}\n${day(now)}`,
    words.subject(law, request),
    words.greeting,
    words.asked(day(certificate.received_at)),
    `${words.done}\n${listed(done)}`,
    `${words.remains}\n${listed([...(history.isSharedLeft ? [words.shared] : []), words.hashes, words.notHere])}`,
    told.length === 0 ? words.noRecipients : `${words.recipients}\n${listed(told)}`,
    words.rights,
    words.proof(sha256),
    `${words.closing}\n\n${sender[0] ?? ''}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

function listed(sentences: readonly string[]): string {
  return sentences.map((sentence) => `- ${sentence}`).join('\n');
}
