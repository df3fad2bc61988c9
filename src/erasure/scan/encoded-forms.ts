/** How a text may stand in a file. */
export const encodings = ['utf-8', 'json', 'percent', 'base64', 'hex'] as const;
export type Encoding = (typeof encodings)[number];

/** One form of a text, as bytes. */
export type EncodedForm = { encoding: Encoding; bytes: Buffer };

/**
 * The forms in which a text may stand in a file, each once, UTF-8 first. JSON: with and without non-ASCII characters and
 * slashes escaped. Percent: as a component, as an address, as a form. Base64: the characters that depend on the text only, for
 * each of the three offsets in a group of three bytes, in both alphabets. Hex: in both cases.
 */
export function encodedForms(text: string): EncodedForm[] {
  const forms = new Map<string, Encoding>();
  for (const [encoding, spellings] of Object.entries(spellingsOf(text)))
    for (const spelling of spellings) if (!forms.has(spelling)) forms.set(spelling, encoding as Encoding);
  return [...forms].map(([spelling, encoding]) => ({ encoding, bytes: Buffer.from(spelling) }));
}

function spellingsOf(text: string): Record<Encoding, string[]> {
  const bytes = Buffer.from(text);
  const hex = bytes.toString('hex');
  return {
    'utf-8': [text],
    json: jsonSpellings(text),
    percent: percentSpellings(text.toWellFormed()),
    base64: [0, 1, 2].flatMap((offset) => base64Spellings(bytes, offset)),
    hex: [hex, hex.toUpperCase()],
  };
}

function jsonSpellings(text: string): string[] {
  const short = JSON.stringify(text).slice(1, -1);
  const ascii = short.replaceAll(/[^\u0020-\u007e]/g, unicodeEscape);
  const upper = short.replaceAll(
    /[^\u0020-\u007e]/g,
    (character) => `\\u${unicodeEscape(character).slice(2).toUpperCase()}`,
  );
  return [short, ascii, upper].flatMap((spelling) => [spelling, spelling.replaceAll('/', '\\/')]);
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function percentSpellings(text: string): string[] {
  const component = encodeURIComponent(text);
  const lower = component.replaceAll(/%../g, (escape) => escape.toLowerCase());
  return [component, lower, encodeURI(text), component.replaceAll('%20', '+')];
}

function base64Spellings(bytes: Buffer, offset: number): string[] {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  const own = whole.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
}
