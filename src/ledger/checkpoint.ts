import { hash } from 'node:crypto';
import { join } from 'node:path';
import { createFile, replaceFile } from '../core/atomic-file.ts';
import { isRegularFile, makeFolder, namesIn, readRegularFile, readWholeFile } from '../core/folder.ts';
import { ledgerFolder } from './entry-file.ts';
import { readVkeys, type Rotation } from './key-chain.ts';
import { isSignedText, readNote, signNote, type Note, type SignerKey } from './note.ts';

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

/** The folder of checkpoints in the ledger's folder. */
export function checkpointsFolder(folder: string): string {
  return join(folder, 'checkpoints');
}

/** The file of public keys in the ledger's folder. */
export function publicKeysPath(folder: string): string {
  return join(folder, 'public-keys.txt');
}

/** The text of the list of public keys as it was after so many rotations. Throws the system's error. */
export function publicKeysAfter(folder: string, rotations: number): string {
  const lines = readWholeFile(publicKeysPath(folder))
    .toString()
    .split(/(?<=\n)/);
  return lines.slice(0, rotations + 1).join('');
}

/** How the checkpoint of a size is named: its digits, so that names sort as sizes do. */
export function checkpointName(size: number): string {
  return String(size).padStart(9, '0');
}

/** The size that a checkpoint's file is named after; undefined for any other name. */
function sizeOfFile(file: string): number | undefined {
  const name = file.replace(/\.txt$/, '');
  const size = /^\d{9,15}$/.test(name) ? Number(name) : undefined;
  return size !== undefined && `${checkpointName(size)}.txt` === file ? size : undefined;
}

/** The names of all files in the folder of checkpoints, sorted; none where there is no folder. */
export function listCheckpointFiles(folder: string): string[] {
  return namesIn(checkpointsFolder(folder));
}

/** The sizes of the checkpoints in the ledger's folder, from the smallest; files of other names are left out. */
export function listCheckpointSizes(folder: string): number[] {
  const sizes = listCheckpointFiles(folder).flatMap((file) => sizeOfFile(file) ?? []);
  return sizes.toSorted((one, other) => one - other);
}

/** The text of the checkpoint of a size; undefined where there is none. */
export function readCheckpointFile(folder: string, size: number): string | undefined {
  return readRegularFile(join(checkpointsFolder(folder), `${checkpointName(size)}.txt`));
}

/** The checkpoint of a size in the ledger's folder, its signatures not verified; undefined where there is none. */
export function checkpointOfSize(folder: string, size: number): Checkpoint | undefined {
  return readCheckpoint(readCheckpointFile(folder, size) ?? '');
}

/** Whether the checkpoint of a size in the ledger's folder is signed with the key of its time, as the list of keys has it. */
export function isCheckpointSigned(folder: string, rotations: readonly Rotation[], size: number): boolean {
  const keys = readVkeys(readRegularFile(publicKeysPath(folder)) ?? '');
  const key = keys?.[rotations.filter(({ seq }) => seq < size).length];
  return key !== undefined && isSignedText(readCheckpointFile(folder, size) ?? '', key);
}

/** Makes the file of a checkpoint, whole or not at all. One that is there stays. Throws the system's error. */
export function createCheckpointFile(folder: string, size: number, text: string): void {
  const place = checkpointsFolder(folder);
  makeFolder(place);
  // Every file among the checkpoints has to be one.
  createFile(join(place, `${checkpointName(size)}.txt`), text, folder);
}

/** Adds the line of a witness to the checkpoint of a size. Throws the system's error. */
export function addCosignature(folder: string, size: number, line: string): void {
  const path = join(checkpointsFolder(folder), `${checkpointName(size)}.txt`);
  replaceFile(path, `${readWholeFile(path).toString()}${line}`, folder);
}

/** The files of time stamps in the ledger's folder, by their names; undefined for what is no file of one. */
export function readTimeStampFiles(folder: string): { file: string; token: Buffer | undefined }[] {
  const place = timeStampsFolder(folder);
  return namesIn(place).map((file) => {
    const isToken = file.endsWith('.tst') && isRegularFile(join(place, file));
    return { file, token: isToken ? readWholeFile(join(place, file)) : undefined };
  });
}

/** Keeps the token of a time stamp over the checkpoint of a size. Throws the system's error. */
export function keepTimeStamp(folder: string, size: number, token: Buffer): void {
  const place = timeStampsFolder(folder);
  makeFolder(place);
  const name = `${checkpointName(size)}-${hash('sha256', token, 'hex').slice(0, 8)}.tst`;
  createFile(join(place, name), token, folder);
}

function timeStampsFolder(folder: string): string {
  return join(folder, 'time-stamps');
}

/** The name of a data folder's ledger, which its first key gave it; undefined before its first checkpoint. */
export function readLedgerOrigin(dataDir: string): string | undefined {
  return readVkeys(readRegularFile(publicKeysPath(ledgerFolder(dataDir))) ?? '')?.[0]?.name;
}

/** The name of a data folder's ledger; signs its first checkpoint where there is none yet. */
export function ledgerOrigin(dataDir: string, ledger: { checkpoint: () => { text: string } }): string {
  const origin = readLedgerOrigin(dataDir) ?? readCheckpoint(ledger.checkpoint().text)?.origin;
  if (origin === undefined) throw new Error('a checkpoint that is none');
  return origin;
}
