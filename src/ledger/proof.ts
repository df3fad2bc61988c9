const header = 'c2sp.org/tlog-proof@v1';
const hashBytes = 32;

/** That an entry is in the ledger, to be checked without the ledger. */
export type Proof = { index: number; hashes: Buffer[]; checkpoint: string };

/** A proof as text (https://c2sp.org/tlog-proof). */
export function proofText({ index, hashes, checkpoint }: Proof): string {
  const encoded = hashes.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `${header}\nindex ${index}\n${encoded}\n${checkpoint}`;
}

/** The proof in a text, nothing of it verified; undefined when it is none, in its one spelling. */
export function readProof(text: string): Proof | undefined {
  const end = text.indexOf('\n\n');
  const [first, second, ...encoded] = text.slice(0, end).split('\n');
  const [, index] = /^index (0|[1-9]\d{0,14})$/.exec(second ?? '') ?? [];
  if (end === -1 || first !== header || index === undefined) return undefined;
  const hashes = encoded.map((line) => Buffer.from(line, 'base64'));
  const areHashes = hashes.every((hash, at) => hash.length === hashBytes && hash.toString('base64') === encoded[at]);
  return areHashes ? { index: Number(index), hashes, checkpoint: text.slice(end + 2) } : undefined;
}
