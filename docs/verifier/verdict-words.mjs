// What the codes of a verdict say, in English (VERDICTS.md). The program, and the page verify.html, print these words.

const sentences = {
  // one line by itself
  too_long: 'the line is longer than 1 MiB',
  not_json: 'the line is not JSON',
  not_canonical: 'the line is not in its canonical form (RFC 8785)',
  not_in_schema: 'the line holds something that no record of a ledger holds',
  torn_line:
    'after the last whole line stands a piece of one, which a kill leaves; the next start of the program cuts it off',
  // a line in its place
  wrong_seq: 'the entry is not numbered as the one after the entry before it: one was removed, added or moved',
  // a record after the others of its request
  unknown_request: 'the record is about a request that was never received',
  received_twice: 'the request was received before',
  wrong_generation: 'the record is of another generation of the request than the present one',
  wrong_order: 'the record may not follow what is recorded of the request before it',
  wrong_epoch: 'the epoch is not the one that has to come here',
  result_without_intent: 'something was destroyed without an intent recorded before it',
  verified_without_scan: 'the request counts as erased without a scan before it that found nothing',
  certified_without_target: 'the request was certified, and the ledger does not say how each of its targets ended',
  verified_without_control: 'a target counts as verified without a scan before it that found the person there',
  copy_elsewhere: 'no other machine is said to have a copy, and the ledger knows one that did not go',
  certified_with_open_intent: 'the request was certified while an intent had no result yet',
  published_without_intent: 'the ledger says of a snapshot that another manifest stands than was about to',
  // keys
  no_public_key: 'the file public-keys.txt, with the key that the checkpoints are signed with, is missing',
  bad_public_key: 'the text is not a list of public keys of one ledger, each a vkey on a line',
  broken_rotation: 'the new key was not signed with the key before it',
  wrong_name:
    'the ledger does not have the name that its first key gives it: another key has taken the name of a ledger',
  unlisted_key: 'the file public-keys.txt lists other keys than the ledger hands over to',
  wrong_public_key: 'the ledger was never signed with this key: it is another ledger, or it was replaced as a whole',
  not_signed_by_key: 'no checkpoint is signed with this key, or with one that it was replaced by',
  // checkpoints
  not_a_checkpoint: 'the text is not a checkpoint, or the file is not named after one',
  wrong_size: 'the checkpoint is of another size than its file is named after',
  wrong_origin: 'the checkpoint is of another ledger',
  beyond_ledger: 'the checkpoint covers more entries than there are: some were removed',
  bad_signature: 'the checkpoint is not signed with the key of its time',
  wrong_root: 'the entries are not those that the checkpoint was signed for: some were changed',
  // what no checkpoint covers
  nothing_signed: 'no good checkpoint covers any entry: anyone may have written them',
  unsigned_for_long:
    'no checkpoint covers this entry and those after it, and more than a day has passed: anyone may have written them',
  // anchors outside
  bad_time_stamp: 'the time stamp is damaged, or is of no checkpoint of this ledger',
  bad_cosignature: 'the witness did not cosign this checkpoint: the line that says so is not its own',
  nothing_anchored: 'no checkpoint has the anchors that the policy demands: the operator alone vouches for the entries',
  unanchored_for_long:
    'no checkpoint with the anchors that the policy demands covers this entry and those after it, and the time for it is over',
  anchored_late: 'the entry says to be older than the policy allows before its anchor: it may have been dated back',
  dated_after_anchor: 'the entry says to be younger than the anchor that covers it: its date is wrong',
  not_anchored: 'the checkpoint that proves it has not the anchors that the policy demands',
  // bundles, certificates and receipts
  not_a_bundle: 'it is no bundle and no page of a certificate, or a byte of it was changed',
  not_a_receipt: 'it is no receipt, or a byte of it was changed',
  not_proved: 'nothing proves that the entry is in the ledger: its line, its proof or its checkpoint was changed',
  not_a_certificate: 'it is no certificate',
  not_on_ledger: 'it is not on the ledger, so nothing proves it',
  other_certificate: 'it is not the one on the ledger',
  says_otherwise: "it says something else than the ledger's entries",
  unsigned_certificate: 'no checkpoint covers its entry on the ledger: anyone may have written both',
  superseded: 'the ledger says otherwise since',
  // not wrong, but worth knowing
  unanchored_entries: 'no checkpoint with the anchors that the policy demands covers this entry and those after it yet',
  clock_set_back: 'the entry is dated before the one before it: the clock was set back',
  unsigned_entries: 'no checkpoint covers this entry and those after it yet',
  own_keys_only:
    'not checked: whether the whole ledger was replaced. Give the copy of the public key that you keep elsewhere (`--public-key`)',
  no_kept_checkpoint:
    'not checked: whether the newest entries and checkpoints were removed together. Give the newest one that you keep elsewhere (`--checkpoint`)',
};

/** The sentence that says what a verification found, by its code; the code itself where it is none of these. */
export const verdictWords = (problem) => (Object.hasOwn(sentences, problem) ? sentences[problem] : problem);
