import { watchFiles } from './watch-files.ts';

// Preloaded into a command: from the nth time that it opens the ledger to write, the disk refuses (LEDGER_REFUSES_FROM).
const from = Number(process.env['LEDGER_REFUSES_FROM']);
let times = 0;

watchFiles(process.argv[process.argv.indexOf('--data-dir') + 1] ?? '', ({ name, isChange, execute }) => {
  if (isChange && name === 'open ledger/entries.jsonl' && (times += 1) >= from)
    throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
  return execute();
});
