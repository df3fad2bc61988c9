import type Database from 'better-sqlite3';
import type { z } from 'zod';
import type { Scope } from '../../contract/endpoints.ts';
import type { User } from '../../contract/resources.ts';

export type UserRecord = z.infer<typeof User>;
/** The scopes of a key, and the user in whose name it acts. */
export type ApiKey = { userId: number; scopes: Scope[] };

export type ApiKeys = ReturnType<typeof apiKeyTable>;

/** The users of the organization and their personal API keys (section 5). */
export function apiKeyTable(database: Database.Database) {
  const insertUser = database.prepare(/*sql*/ `INSERT INTO users (id, document) VALUES (?, ?)`);
  const selectUser = database.prepare<[number], string>(/*sql*/ `SELECT document FROM users WHERE id = ?`);
  const insertKey = database.prepare(/*sql*/ `INSERT INTO api_keys (key, user_id, scopes) VALUES (?, ?, ?)`);
  const selectKey = database.prepare<[string], { userId: number; scopes: string }>(
    /*sql*/ `SELECT user_id AS userId, scopes FROM api_keys WHERE key = ?`,
  );
  const updateScopes = database.prepare(/*sql*/ `UPDATE api_keys SET scopes = ? WHERE key = ?`);
  return {
    addUser(user: UserRecord): void {
      insertUser.run(user.id, JSON.stringify(user));
    },
    /** Throws for an unknown id: users are never deleted. */
    user(id: number): UserRecord {
      const document = selectUser.pluck().get(id);
      if (document === undefined) throw new Error(`no user ${id}`);
      return JSON.parse(document) as UserRecord;
    },
    issue(key: string, userId: number, scopes: readonly Scope[]): void {
      insertKey.run(key, userId, JSON.stringify(scopes));
    },
    /** Gives a key these scopes and no others. False for an unknown key. */
    setScopes: (key: string, scopes: readonly Scope[]): boolean =>
      updateScopes.run(JSON.stringify(scopes), key).changes > 0,
    find(key: string): ApiKey | undefined {
      const row = selectKey.get(key);
      return row && { userId: row.userId, scopes: JSON.parse(row.scopes) as Scope[] };
    },
  };
}
