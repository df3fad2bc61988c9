import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { YAMLParseError, parse } from 'yaml';
import { AppError, systemCode } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/exact-json.ts';

/** Reads a configuration file. Throws `usage` if it cannot be read or is no map; the error does not quote the file. */
export function readYaml(path: string | URL): JsonObject {
  const text = readText(path, 'the configuration file');
  let tree: unknown;
  try {
    tree = parse(text) ?? {};
  } catch (error) {
    const found =
      error instanceof YAMLParseError
        ? `at line ${error.linePos?.[0].line ?? '?'} (${error.code})`
        : '(an alias that cannot be followed)';
    throw new AppError(`the configuration file ${String(path)} is not valid YAML ${found}`, {
      code: 'usage',
      hint: 'check the indentation, the quotes and the brackets there',
    });
  }
  if (!isJsonObject(tree))
    throw new AppError(`the configuration file ${String(path)} must be a map of settings`, {
      code: 'usage',
      hint: 'write it like config/default.yaml, which explains every setting',
    });
  return tree;
}

/** Reads a file that the configuration names. Throws `usage` when it cannot be read. */
function readText(path: string | URL, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const tried = typeof path === 'string' ? resolve(path) : path.pathname;
    throw new AppError(`${what} cannot be read: ${tried} (${systemCode(error) ?? 'unknown error'})`, {
      code: 'usage',
      hint: 'check the path, and that this user may read the file',
      cause: error,
    });
  }
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
