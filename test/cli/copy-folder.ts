import { chmodSync, cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Copies a folder with the modes of its folders, as a backup does: Node's own copy opens them to everybody. */
export function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  const folders = readdirSync(to, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const path of [to, ...folders.map(({ parentPath, name }) => join(parentPath, name))]) chmodSync(path, 0o700);
}
