import { privateKeyOf, vkeyOf, signatureOf, verifierOf, type SignerKey } from '../../src/ledger/note.ts';

/** A witness of the tests. Its key is no secret. */
export const testWitness: SignerKey = { name: 'witness.example', privateKey: privateKeyOf(Buffer.alloc(32, 0x55)) };

/** The key of a witness as settings and policies name it. */
export function witnessVkey(signer: SignerKey = testWitness): string {
  return vkeyOf(verifierOf(signer), 'cosignature');
}

/** The line by which a witness cosigns the text of a checkpoint at a time, in seconds since 1970. */
export function cosignatureLine(text: string, time: number, signer: SignerKey = testWitness): string {
  const id = Buffer.from(witnessVkey(signer).split('+')[1] ?? '', 'hex');
  const at = Buffer.alloc(8);
  at.writeBigUInt64BE(BigInt(time));
  const signature = signatureOf(Buffer.from(`cosignature/v1\ntime ${time}\n${text}`), signer);
  return `— ${signer.name} ${Buffer.concat([id, at, signature]).toString('base64')}\n`;
}
