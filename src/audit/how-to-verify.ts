import { html } from 'hono/html';
import type { Markup } from '../markup/markup.ts';
import { factList } from './audit-page.ts';
import type { AuditReport } from './report-data.ts';
import { countedText, countText } from '../core/words.ts';

/** How a report, and all that it rests on, can be verified: for whoever has never seen a ledger. */
export function howToVerify({ ledger }: Pick<AuditReport, 'ledger'>): Markup {
  return html`<section aria-labelledby="verify">
    <h2 id="verify">How to verify this</h2>
    <p>
      Every step of every request was written to a ledger before it was taken and after it, in
      <code>ledger/entries.jsonl</code>: one line each, no names, nothing free. The lines are hashed into one
      number, the root, so that no line can be changed, added or removed without changing it; the root is
      signed as a <i>checkpoint</i>. Each certificate’s hash is one of those lines.
    </p>
    <ol>
      <li>
        <b>Keep a checkpoint outside.</b> <code>analytics-mirror audit checkpoint</code> prints three lines
        and a signature: name of the ledger, how many entries, the root. Keep them, and the file
        <code>ledger/public-keys.txt</code>, where whoever runs this program cannot change them.
      </li>
      <li>
        <b>Later, hold the ledger against it.</b>
        <code>analytics-mirror audit verify --checkpoint kept.txt --public-key public-keys.txt</code> reads
        everything again: the ledger grew from that very checkpoint, the order of its steps is allowed, every
        certificate follows from it, every published file is as its manifest says. It needs the data folder
        only, no network and no key.
      </li>
      <li>
        <b>Without trusting this program:</b> the script <code>docs/verifier/verify.mjs</code> checks the
        ledger by itself, on a few pages to read, and the formats are public (RFC 8785, RFC 6962, C2SP signed
        notes).
      </li>
      <li>
        <b>A person asks whether it was theirs:</b> with the receipt that was given to them,
        <code>analytics-mirror audit open</code> shows which request and certificate are about them.
      </li>
    </ol>
    <p>
      <b>Only the kept checkpoint detects a ledger that was cut short or written anew.</b> Without one, the
      ledger vouches for itself.
    </p>
    ${factList([
      ['Ledger', ledger.origin === null ? 'not signed yet' : html`<code>${ledger.origin}</code>`],
      ['Entries now', countText(ledger.entries)],
      ['Root now', html`<code>${ledger.rootHash}</code>`],
    ])}
    ${
      ledger.checkpoint === null
        ? html`<p>No checkpoint was signed yet.</p>`
        : html`<p>
              The newest checkpoint, over ${countedText(ledger.checkpoint.entries, 'entry', 'entries')}:
            </p>
            ${checkpointBlock(ledger.checkpoint.text)}`
    }
  </section>`;
}

/** On one line: what stands between the tags of `pre` is shown as it is. */
function checkpointBlock(text: string): Markup {
  return html`<pre><code>${text}</code></pre>`;
}
