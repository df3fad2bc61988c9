/** Texts by their numbers. An array is such a list. */
export type Texts = Iterable<string> & { readonly length: number; at: (index: number) => string | undefined };

/** Texts that are kept as bytes: a million short ones take half the memory of strings, and none of the heap. */
export type PackedTexts = Texts & { push: (text: string) => void };

const chunkBytes = 1 << 20;

/** Prepares an empty list. */
export function packTexts(): PackedTexts {
  const chunks: Buffer[] = [];
  let room = 0;
  // Where each text begins: the number of its chunk, and the place in it. Its end is the beginning of the next, or of the rest.
  let starts = new Float64Array(64);
  let length = 0;
  const at = (index: number): string | undefined => {
    if (index < 0 || index >= length) return undefined;
    const start = starts[index] as number;
    const chunk = chunks[Math.floor(start / placesEach)] as Buffer;
    const offset = start % placesEach;
    const end = offset + 5 + chunk.readUInt32LE(offset + 1);
    return chunk.toString(chunk[offset] === 0 ? 'latin1' : 'utf16le', offset + 5, end);
  };
  return {
    get length() {
      return length;
    },
    at,
    push: (text) => {
      // No other spelling keeps a text that is not well-formed.
      const isLatin = isLatin1(text);
      const bytes = 5 + text.length * (isLatin ? 1 : 2);
      if (bytes > room) {
        room = Math.max(chunkBytes, bytes);
        chunks.push(Buffer.allocUnsafeSlow(room));
      }
      const chunk = chunks.at(-1) as Buffer;
      const offset = chunk.length - room;
      chunk[offset] = isLatin ? 0 : 1;
      chunk.writeUInt32LE(bytes - 5, offset + 1);
      chunk.write(text, offset + 5, isLatin ? 'latin1' : 'utf16le');
      room -= bytes;
      if (length === starts.length) {
        const longer = new Float64Array(2 * length);
        longer.set(starts);
        starts = longer;
      }
      starts[length] = (chunks.length - 1) * placesEach + offset;
      length += 1;
    },
    *[Symbol.iterator]() {
      for (let index = 0; index < length; index += 1) yield at(index) as string;
    },
  };
}

function isLatin1(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 0xff) return false;
  return true;
}

/** More than any chunk has. */
const placesEach = 2 ** 32;
