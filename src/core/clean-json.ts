const suspicious = /\\u(?:0000|[dD][89a-fA-F])/;

/** Whether a text has what looks like the escape of NUL or of a surrogate. Only such JSON texts can need cleaning. */
export function mayNeedCleaning(text: string): boolean {
  return suspicious.test(text);
}

// One escape at a time, so that `\\u0000`, a backslash before `u0000`, is none of NUL. A pair is one character.
const escapes =
  /\\(?:[^u]|u(?!0000|[dD][89a-fA-F])|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}))/g;

/** A text without NUL and unpaired surrogates: each becomes U+FFFD. Warehouses read every such text. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/**
 * A JSON text whose strings and keys are as `cleanText` makes them; every other character stays. Calls `onReplaced` with the number
 * of characters that it has replaced, if any. `replacement` is U+FFFD as the text is decoded.
 */
export function cleanJson(text: string, onReplaced: (count: number) => void, replacement = '\uFFFD'): string {
  if (!mayNeedCleaning(text)) return text;
  let count = 0;
  const cleaned = text.replaceAll(escapes, (escape, replaced: string | undefined) => {
    if (replaced === undefined) return escape;
    count += 1;
    return replacement;
  });
  if (count > 0) onReplaced(count);
  return cleaned;
}
