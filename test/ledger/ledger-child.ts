import { writeSync } from 'node:fs';
import { openLedger } from '../../src/ledger/ledger.ts';
import { watchDiskChanges } from '../export/fault-points.ts';
import { lifeOf, tickingClock } from './ledger-fixture.ts';

// Goes on with a ledger where it stands, and is killed before the nth change of the disk; says on standard output what it
// was promised: the size after each append, the name of each checkpoint.
const [dataDir = '', killedAt] = process.argv.slice(2);

const ledger = openLedger(dataDir, tickingClock());
watchDiskChanges((step) => {
  if (step === Number(killedAt)) process.kill(process.pid, 'SIGKILL');
});
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
