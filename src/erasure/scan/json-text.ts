/** What a text holds as JSON, where it is an object, a list or a text in quotes; undefined for every other text. */
export function parseJsonText(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
