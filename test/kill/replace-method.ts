type Method<T> = (this: T, ...parameters: unknown[]) => unknown;

/** Calls `replacement` instead of a method, which it may execute, until the returned function is called. */
export function replaceMethod<T extends object>(
  owner: T,
  name: string,
  replacement: (self: T, execute: () => unknown, parameters: unknown[]) => unknown,
): () => void {
  const original = Reflect.get(owner, name) as Method<T>;
  const replaced: Method<T> = function (...parameters) {
    return replacement(this, () => Reflect.apply(original, this, parameters), parameters);
  };
  Reflect.set(owner, name, replaced);
  return () => void Reflect.set(owner, name, original);
}
