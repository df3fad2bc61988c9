import type { LetterWords } from './letter-words.ts';

/** The sentences of a letter in English. */
export const english: LetterWords = {
  sender: { controller: '[name of the controller]', contact: '[address]' },
  subject: (law, reference) => `Your request for erasure (${law}), reference ${reference}`,
  laws: { gdpr: 'Art. 17 GDPR', ccpa: 'California Consumer Privacy Act' },
  greeting: 'Dear [name],',
  asked: (day) => `On ${day} we received your request to erase your personal data. This is what we have done:`,
  done: 'What was done',
  here: {
    verified: (day) =>
      `In our own copy of the analytics data, your data were erased by ${day}. A search of everything stored there had found you before, and found nothing afterwards.`,
    observed: (day) =>
      `In our own copy of the analytics data, nothing of you is stored as of ${day}: a search of everything there found nothing.`,
  },
  person: {
    deleted: 'At our analytics provider, your profile was deleted. We have asked for it since, and it is gone.',
    already_absent: 'Our analytics provider had no profile of you any more.',
    still_present: 'Our analytics provider still had your profile when we last asked. [What happens next]',
    not_verifiable: 'We cannot check whether our analytics provider has deleted your profile. [What happens next]',
  },
  events: {
    confirmed: 'Our analytics provider says that it has deleted the events recorded about you.',
    not_verifiable: 'We cannot check whether our analytics provider has deleted the events recorded about you.',
    unconfirmed: 'We asked our analytics provider to delete the events recorded about you. It has not confirmed that.',
    partly_deleted:
      'Our analytics provider says that it has deleted a part of the events recorded about you. [What happens to the others]',
    not_queued: 'Our analytics provider has shown no deletion of the events recorded about you. [What happens next]',
    kept: 'The events recorded about you remain at our analytics provider. [The exception that allows it]',
  },
  recordings: {
    deleted: 'The recordings of your sessions were deleted at our analytics provider.',
    absent: 'Our analytics provider shows no recording of your sessions any more.',
    not_deletable_via_api:
      'The recordings of your sessions remain at our analytics provider until their retention ends: [period].',
    not_deletable_by_key:
      'The recordings of your sessions remain at our analytics provider until their retention ends: [period].',
    still_present:
      'The recordings of your sessions were still at our analytics provider when we last asked. [What happens next]',
    deletion_requested:
      'We asked our analytics provider to delete the recordings of your sessions. We have not seen that it has.',
    not_verifiable: 'We cannot check whether our analytics provider has deleted the recordings of your sessions.',
  },
  bucket: { locked: 'A lock on our storage keeps older versions of the data until [date]. They are deleted then.' },
  copies: 'A copy on the disk of a machine that is gone cannot be checked. [What happened to the disk]',
  late: (due) => `This took longer than the day we had set (${due}). [The reason for the delay]`,
  remains: 'What remains',
  shared: 'A part of the data is, or may be, another person’s too. It was left to that person. [What that is]',
  hashes:
    'We keep coded values (keyed hashes) of your identifiers. They name nobody. By them we recognise data of yours that arrive again, and keep them out.',
  notHere:
    'We cannot check the backups and the internal storage of our analytics provider. Our own backups are overwritten within [period].',
  recipients: 'These recipients of the data were told to delete them too:',
  noRecipients: 'No recipient of the data is recorded. [Recipients that were told]',
  acknowledged: (day) => `has told us that it did (recorded on ${day})`,
  silent: 'has not told us yet that it did',
  rights:
    'If you do not agree, you may lodge a complaint with a supervisory authority ([name, address]) and seek a judicial remedy.',
  proof: (sha256) =>
    `A certificate of this erasure is filed under the reference above. It names no person (SHA-256 ${sha256}).`,
  closing: 'Yours sincerely,',
};
