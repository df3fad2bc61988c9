import type { LedgerEntry } from './entry.ts';
import type { BoundPart } from './vocabulary.ts';

/**
 * An entry after a certificate that speaks against it, or takes it back: its number, its time, and what it says, such as
 * `reopened residue_found`. docs/verifier/PROOFS.md says which.
 */
export type LaterWord = {
  entry: number;
  at: string;
  type: 'reopened' | 'attention' | 'readmitted' | 'differs';
  says: string;
};

/** Collects the later words about certificates, as a ledger is read. */
export type LaterWords = {
  /** Takes the next entry. */
  take(entry: LedgerEntry): void;
  /** Those about a request's certificate, by its SHA-256, since it was first certified; oldest first. */
  since(request: string, certificate: string): LaterWord[];
};

/**
 * Collects later words from the start of a ledger. Keeps those about requests only that are certified. `signed`: how many entries are
 * under a checkpoint. An entry that all is mended counts only there: somebody without a key can append it, too.
 */
export function collectLaterWords(signed = Infinity): LaterWords {
  const own = new Map<string, { certified: Map<string, number>; words: LaterWord[] }>();
  const differing = new Map<BoundPart, LaterWord>();
  return {
    take: (entry) => {
      const { seq, at, type } = entry;
      const say = (about: LaterWord['type'], ...more: string[]): LaterWord => ({
        entry: seq,
        at,
        type: about,
        says: [about, ...more].join(' '),
      });
      if (type === 'certified' && entry.certificate !== null) {
        const of = own.get(entry.request) ?? { certified: new Map<string, number>(), words: [] };
        if (!of.certified.has(entry.certificate)) of.certified.set(entry.certificate, seq);
        own.set(entry.request, of);
      } else if (type === 'reopened') own.get(entry.request)?.words.push(say(type, entry.reason));
      else if (type === 'attention') own.get(entry.request)?.words.push(say(type, entry.target, entry.reason));
      else if (type === 'readmitted') own.get(entry.request)?.words.push(say(type));
      else if (type === 'differs') differing.set(entry.part, say(type, entry.part));
      else if (type === 'mended' && seq < signed) differing.delete(entry.part);
    },
    since: (request, certificate) => {
      const { certified, words = [] } = own.get(request) ?? {};
      const first = certified?.get(certificate) ?? Infinity;
      return [...words, ...differing.values()]
        .filter(({ entry }) => entry > first)
        .toSorted((a, b) => a.entry - b.entry);
    },
  };
}

/** Later words, each with its day. */
export function laterText(later: readonly LaterWord[]): string {
  return later.map(({ at, says }) => `${says} (${at.slice(0, 10)})`).join(', ');
}

/** The later words about a certificate, by all entries of a ledger, or of a bundle, which are all signed. */
export function laterWords(
  { entries, signed }: { entries: () => Iterable<LedgerEntry>; signed?: () => number },
  request: string,
  certificate: string,
): LaterWord[] {
  const words = collectLaterWords(signed?.());
  for (const entry of entries()) words.take(entry);
  return words.since(request, certificate);
}
