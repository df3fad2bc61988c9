import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import Sqlite from 'better-sqlite3';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';

/** A place in words, and everything that can be read there. */
type Content = { place: string; holds: (text: string) => boolean };

/**
 * Where texts stand below a data folder, by none of the program's own means: `raw x` for the bytes of a file,
 * `rows x` for what an independent reader of Parquet finds, `table x` for a table of the mirror. Keys are left out.
 */
export async function findTexts(dataDir: string, texts: readonly string[]): Promise<Map<string, string[]>> {
  const contents = [...tablesOf(join(dataDir, 'mirror.db')), ...(await filesOf(dataDir))];
  return new Map(texts.map((text) => [text, contents.filter(({ holds }) => holds(text)).map(({ place }) => place)]));
}

/** The texts that stand anywhere below a data folder, each with its places. */
export async function textsLeft(...sought: Parameters<typeof findTexts>): Promise<[text: string, places: string[]][]> {
  return [...(await findTexts(...sought))].filter(([, places]) => places.length > 0);
}

async function filesOf(dataDir: string): Promise<Content[]> {
  const entries = readdirSync(dataDir, { recursive: true, withFileTypes: true });
  const contents: Content[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const place = relative(dataDir, path);
    if (place.split('/')[0] === 'keys') continue;
    contents.push({ place: `name ${place}`, holds: (text) => entry.name.includes(text) });
    if (!entry.isFile()) continue;
    const bytes = readFileSync(path);
    contents.push({ place: `raw ${place}`, holds: (text) => formsOf(text).some((form) => bytes.includes(form)) });
    if (!place.endsWith('.parquet')) continue;
    const rows = jsonOf(await readWithHyparquet(path));
    contents.push({ place: `rows ${place}`, holds: (text) => formsOf(text).some((form) => rows.includes(form)) });
  }
  return contents;
}

function tablesOf(path: string): Content[] {
  const db = new Sqlite(path, { readonly: true });
  try {
    const tables = db.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all();
    return tables.map((table) => {
      const rows = jsonOf(db.prepare(`SELECT * FROM "${table}"`).safeIntegers().all());
      return { place: `table ${table}`, holds: (text) => formsOf(text).some((form) => rows.includes(form)) };
    });
  } finally {
    db.close();
  }
}

/** A text as it is, within JSON, within JSON within JSON, and in an address. */
function formsOf(text: string): string[] {
  return [...new Set([text, inJson(text), inJson(inJson(text)), encodeURIComponent(text)])];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Texts stand in it as they are, but for the escapes of JSON: once for columns, once more within JSON columns. */
function jsonOf(rows: unknown): string {
  return JSON.stringify(rows, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
