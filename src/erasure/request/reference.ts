import { usageError } from '../../core/errors.ts';

/** References and codes: a role, a ticket, an article of a law. A blank or an @ would let in names and addresses. */
const referencePattern = /^[A-Za-z0-9._:/#-]{1,64}$/;

/** Throws `usage` for a `by`, a `basis` or a `note` that is no reference. The text is not repeated: it may name a person. */
export function requireReferences(given: {
  by?: string | undefined;
  basis?: string | undefined;
  note?: string | undefined;
}): void {
  for (const [option, example] of [
    ['by', 'TICKET-812 or dpo'],
    ['basis', 'objection or art-17'],
    ['note', 'TICKET-812'],
  ] as const) {
    const text = given[option];
    if (text === undefined || referencePattern.test(text)) continue;
    throw usageError(
      `--${option} takes a reference: 1 to 64 letters, digits and . _ : / # -, without blanks and without @`,
      `write for example --${option} ${example}, and never the name of a person`,
    );
  }
}
