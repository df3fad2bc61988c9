import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseDocument } from 'yaml';
import { AppError, systemCode, usageError } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/exact-json.ts';

/** Reads a configuration file. Throws `usage` if it cannot be read or is no map; the error does not quote the file. */
export function readYaml(path: string | URL): JsonObject {
  const document = parseDocument(readText(path));
  const refuse = (found: string): AppError =>
    usageError(
      `the configuration file ${String(path)} is not valid YAML ${found}`,
      'check the indentation, the quotes and the brackets there',
    );
  // What is only warned of, such as an unknown tag, would be read as something else than it says.
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw refuse(`at line ${problem.linePos?.[0].line ?? '?'} (${problem.code})`);
  let tree: unknown;
  try {
    tree = document.toJS() ?? {};
  } catch {
    throw refuse('(an alias that cannot be followed)');
  }
  if (!isJsonObject(tree))
    throw usageError(
      `the configuration file ${String(path)} must be a map of settings`,
      'write it like config/default.yaml, which explains every setting',
    );
  return tree;
}

/** Throws `usage` when the file cannot be read, or is not UTF-8. */
function readText(path: string | URL): string {
  const tried = typeof path === 'string' ? resolve(path) : fileURLToPath(path);
  try {
    const bytes = readFileSync(path);
    if (isUtf8(bytes)) return bytes.toString();
  } catch (error) {
    throw new AppError(`the configuration file cannot be read: ${tried} (${systemCode(error) ?? 'unknown error'})`, {
      code: 'usage',
      hint: 'check the path, and that this user may read the file',
      cause: error,
    });
  }
  throw usageError(`the configuration file is not UTF-8: ${tried}`, 'save the file as UTF-8');
}

/** Lays one tree over another: maps are merged (`recordings.query` too), everything else is replaced. */
export function merge(target: JsonObject, source: JsonObject): void {
  for (const [name, value] of Object.entries(source)) {
    const existing = ownValue(target, name);
    if (isJsonObject(existing) && isJsonObject(value)) merge(existing, value);
    else define(target, name, value);
  }
}

/** Sets the value at a dotted path, and makes the maps above it. */
export function assign(tree: JsonObject, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? path;
  let node = tree;
  for (const name of names) {
    const child = ownValue(node, name);
    const branch = isJsonObject(child) ? child : {};
    define(node, name, branch);
    node = branch;
  }
  define(node, last, value);
}

/** Whether a tree has a value at a path. */
export function holdsPath(tree: unknown, path: readonly PropertyKey[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return true;
  return isJsonObject(tree) && Object.hasOwn(tree, name) && holdsPath(tree[String(name)], rest);
}

/** The value of an own property. `tree['__proto__']` would read the prototype of every object. */
export function ownValue(tree: JsonObject, name: string): unknown {
  return Object.hasOwn(tree, name) ? tree[name] : undefined;
}

/** Sets an own property of any name: a file may hold `__proto__`. */
function define(tree: JsonObject, name: string, value: unknown): void {
  Object.defineProperty(tree, name, { value, writable: true, enumerable: true, configurable: true });
}
