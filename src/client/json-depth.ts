const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Whether a JSON text nests arrays and objects in more than `depthMax` levels. One look at each character, and no
 * recursion: whoever walks the parsed value by recursion then knows that its stack suffices.
 */
export function isDeeperThan(text: string, depthMax: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
  }
  return false;
}

/** Where the string that begins at `from` has its closing quote. */
function endOfString(text: string, from: number): number {
  let at = from;
  for (; at < text.length && text.charCodeAt(at) !== quote; at += 1)
    if (text.charCodeAt(at) === backslash) at += 1;
  return at;
}
