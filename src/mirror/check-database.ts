import type { Database } from 'better-sqlite3';
import { AppError } from '../core/errors.ts';
import { countTable } from './row-counts.ts';

/** Reads the whole file and checks its structure. Returns what was found well; throws `storage` when it is damaged. */
export function checkDatabase(db: Database): string {
  const verdict = db.pragma('quick_check(1)', { simple: true });
  if (verdict !== 'ok')
    throw new AppError('mirror.db is damaged', {
      code: 'storage',
      hint: 'restore it from a backup, or move it away and sync again',
    });
  const persons = countTable(db, 'persons');
  return `mirror.db is sound and holds ${persons} persons`;
}
