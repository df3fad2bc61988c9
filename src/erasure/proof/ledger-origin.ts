import { existsSync, readFileSync } from 'node:fs';
import { publicKeysPath } from '../../ledger/checkpoint-file.ts';
import { readCheckpoint } from '../../ledger/checkpoint.ts';
import { ledgerFolder } from '../../ledger/entry-file.ts';
import { readVkeys } from '../../ledger/key-chain.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** The name of a data folder's ledger, which its first key gave it; undefined before its first checkpoint. */
export function readLedgerOrigin(dataDir: string): string | undefined {
  const path = publicKeysPath(ledgerFolder(dataDir));
  return existsSync(path) ? readVkeys(readFileSync(path, 'utf8'))?.[0]?.name : undefined;
}

/** The name of a data folder's ledger; signs its first checkpoint where there is none yet. */
export function ledgerOrigin(dataDir: string, ledger: Pick<Ledger, 'checkpoint'>): string {
  const origin = readLedgerOrigin(dataDir) ?? readCheckpoint(ledger.checkpoint().text)?.origin;
  if (origin === undefined) throw new Error('a checkpoint that is none');
  return origin;
}
