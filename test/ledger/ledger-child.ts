import { writeSync } from 'node:fs';
import { openLedger } from '../../src/ledger/ledger.ts';
import { lifeOf, tickingClock } from './ledger-fixture.ts';

// Goes on with the ledger of a data folder. Says on standard output what it was promised: the size after each append, the
// size that each checkpoint covers.
const ledger = openLedger(process.argv.at(-1) ?? '', tickingClock());
const say = (words: string): void => void writeSync(1, `${words}\n`);
const epoch = ledger.epoch() + 1;
const life = lifeOf(epoch, epoch);
ledger.append(life.slice(0, 5).flat());
say(`size ${ledger.size()}`);
say(`checkpoint ${ledger.checkpoint().size}`);
ledger.rotateKey();
say(`size ${ledger.size()}`);
ledger.append(life.slice(5).flat());
say(`size ${ledger.size()}`);
say(`checkpoint ${ledger.checkpoint().size}`);
