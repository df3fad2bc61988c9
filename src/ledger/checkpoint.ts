import { readNote, signNote, type Note, type SignerKey } from './note.ts';

const rootBytes = 32;

/** A signed tree head (https://c2sp.org/tlog-checkpoint): the ledger's first `size` entries hash to `root`. */
export type Checkpoint = {
  origin: string;
  size: number;
  root: Buffer;
  /** The text as signed, and who says to have signed it. */
  note: Note;
};

/** A checkpoint's text, signed. Its origin is the name of the key. */
export function checkpointText({ size, root }: { size: number; root: Buffer }, signer: SignerKey): string {
  return signNote(`${signer.name}\n${size}\n${root.toString('base64')}\n`, signer);
}

/** The checkpoint in a text, its signatures not verified; undefined when it is none, in its one spelling. */
export function readCheckpoint(text: string): Checkpoint | undefined {
  const note = readNote(text);
  const [, origin, size, encoded] = /^([^\n]+)\n(0|[1-9]\d{0,14})\n([^\n]+)\n$/.exec(note?.text ?? '') ?? [];
  if (note === undefined || origin === undefined || encoded === undefined) return undefined;
  const root = Buffer.from(encoded, 'base64');
  if (root.length !== rootBytes || root.toString('base64') !== encoded) return undefined;
  return { origin, size: Number(size), root, note };
}
