import { html } from 'hono/html';
import { newestTime } from '../core/clock.ts';
import { bytesText, codeText, countedText, countText, minuteText } from '../core/words.ts';
import type { Certificate } from '../erasure/proof/certificate.ts';
import { isFile, readTarget } from '../ledger/target.ts';
import { evidenceOf } from '../ledger/vocabulary.ts';
import { evidenceWords, kindOfTarget, resultText, targetKindText } from '../ledger/vocabulary-words.ts';
import { table, type Markup } from '../markup/markup.ts';

/** The targets of a certificate. Files of one dataset with the same result share a row; the certificate itself lists each file. */
export function targetTable({ targets }: Certificate): Markup {
  // A certificate has the weakest first. Whoever reads it wants to know first what was done.
  const groups = Map.groupBy(
    targets.toReversed(),
    ({ target, result, assurance }) => `${nameOf(target)} ${result} ${assurance}`,
  );
  const rows = [...groups.values()].flatMap((ends) => {
    const [end] = ends;
    if (!end) return [];
    const isPublished = isFile(readTarget(end.target));
    const removed = ends.map((each) => each.rows_removed).filter((count) => count !== null);
    return [
      [
        `${nameOf(end.target)}${isPublished ? ` (${countedText(ends.length, 'file')})` : ''}${end.machines ? `: ${end.machines.join(', ')}` : ''}`,
        end.method ? `${resultText(end.result)} (method: ${codeText(end.method)})` : resultText(end.result),
        evidenceWords[evidenceOf(end)].name,
        removed.length === 0 ? '–' : removed.reduce((sum, count) => sum + count, 0),
        minuteText(newestTime(ends.map((each) => each.ended_at))),
      ],
    ];
  });
  return table(
    'Each target, its result, and how strong the evidence for it is',
    ['Target', 'Result', 'Assurance', { heading: 'Rows taken out', is: 'number' }, { heading: 'When', is: 'when' }],
    rows,
  );
}

/** What a page calls a target. */
export function nameOf(target: string): string {
  const read = readTarget(target);
  const kind = targetKindText(kindOfTarget(read));
  return isFile(read) ? `${kind} of ${codeText(read.dataset)}` : kind;
}

/** The searches of a certificate, and what weakens them. */
export function scanTable({ scan: { control, verify }, targets }: Certificate): Markup {
  const rowOf = (name: string, scan: Certificate['scan']['verify']): (string | number)[] => [
    name,
    scan.files,
    scan.passed_over,
    bytesText(scan.bytes),
    scan.needles,
    scan.hits,
  ];
  return html`${table(
    'The searches of what this program has written, but its keys: byte by byte and decoded',
    ['Search', 'Files read', 'Passed over', { heading: 'Bytes', is: 'number' }, 'Texts searched for', 'Found'],
    [...(control ? [rowOf('Control, before the erasure', control)] : []), rowOf('After the erasure', verify)],
  )}
  ${
    verify.passed_over === 0
      ? ''
      : html`<p class="soft">
          Passed over: published files that did not change, and in which a search of all rows had just not found the
          person.
        </p>`
  }
  ${
    verify.left_out === undefined
      ? ''
      : html`<p class="late">
          The scan had no room for up to ${countText(verify.left_out)} of the person’s texts, so it did not search for
          them. For these texts the result proves nothing.
        </p>`
  }
  ${
    control && control.hits > 0
      ? html`<p class="soft">
          The control ended as soon as it had found the person: it does not show that the search finds a person in each
          kind of file.
        </p>`
      : targets.some(({ target, assurance }) => target === 'mirror' && assurance === 'verified')
        ? html`<p class="soft">
            The search of this generation found nobody. A search of an earlier generation had found the person.
          </p>`
        : html`<p class="late">
            ${control ? 'The search before the erasure did not find the person.' : 'Before the erasure, no search was made.'}
            So the empty search afterwards is weaker evidence.
          </p>`
  }`;
}
