import { buffer } from 'node:stream/consumers';
import { readCheckpoint } from '../../src/ledger/checkpoint.ts';
import { bodyOf, localServer } from '../client/local-server.ts';
import { isConsistent } from '../ledger/proved.ts';
import { isNoteSignedBy, readVkey, type SignerKey } from '../../src/ledger/note.ts';
import { timeStampReply, type TokenShape } from './time-stamp-authority.ts';
import { cosignatureLine, testWitness } from './witness.ts';

/** A time-stamp authority on loopback. It can be told to be away, and how its tokens are. */
export async function authorityServer(
  nowMs: () => number,
): Promise<{ url: string; isAway: boolean; shape: TokenShape }> {
  const authority = { url: '', isAway: false, shape: {} as TokenShape };
  const { origin } = await localServer(async (request, response) => {
    const query = await buffer(request);
    if (authority.isAway) return response.writeHead(503).end();
    return response.end(timeStampReply(query, nowMs(), authority.shape));
  });
  authority.url = origin;
  return authority;
}

type WitnessServer = {
  url: string;
  isAway: boolean;
  /** Whether it forgets to send what it has cosigned, as where the connection breaks. */
  isMute: boolean;
  requests: number;
  /** The keys of ledgers that it knows; undefined: those that it was started with. */
  keys: readonly string[] | undefined;
  signer: SignerKey;
};

/** A witness on loopback, as https://c2sp.org/tlog-witness says, of ledgers with one of these keys. */
export async function witnessServer(vkeys: () => readonly string[], nowMs: () => number): Promise<WitnessServer> {
  let seen: { size: number; root: Buffer } = { size: 0, root: Buffer.alloc(0) };
  const answer = (body: string): { status: number; text?: string } => {
    const end = body.indexOf('\n\n');
    const note = body.slice(end + 2);
    const [old = '', ...proof] = body.slice(0, end).split('\n');
    const checkpoint = readCheckpoint(note);
    const from = Number(/^old (\d+)$/.exec(old)?.[1]);
    if (!checkpoint || from > checkpoint.size) return { status: 400 };
    const keys = (witness.keys ?? vkeys()).map((vkey) => readVkey(vkey));
    if (!keys.some((key) => key && isNoteSignedBy(checkpoint.note, key))) return { status: 403 };
    if (from !== seen.size) return { status: 409, text: `${seen.size}\n` };
    const hashes = proof.map((line) => Buffer.from(line, 'base64'));
    if (from > 0 && !isConsistent(seen, checkpoint, hashes)) return { status: from === checkpoint.size ? 409 : 422 };
    seen = checkpoint;
    return { status: 200, text: cosignatureLine(checkpoint.note.text, Math.floor(nowMs() / 1000), witness.signer) };
  };
  const witness: WitnessServer = {
    url: '',
    isAway: false,
    isMute: false,
    requests: 0,
    keys: undefined,
    signer: testWitness,
  };
  const { origin } = await localServer(async (request, response) => {
    const body = await bodyOf(request);
    witness.requests += 1;
    if (witness.isAway || request.url !== '/add-checkpoint') return response.writeHead(503).end();
    const { status, text = '' } = answer(body);
    return response.writeHead(witness.isMute ? 502 : status).end(witness.isMute ? '' : text);
  });
  witness.url = origin;
  return witness;
}
