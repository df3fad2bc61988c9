/** How many bytes are searched for as one piece. Fewer would often match by chance. */
export const shingleBytes = 12;

/** A search for many pieces of bytes, all of one length, at once. */
export type ShingleSearch = {
  /** Adds the bytes at an offset. Returns their number, which is the old one for known bytes; undefined when full. */
  add(bytes: Uint8Array, offset: number): number | undefined;
  size(): number;
  /** From now on, the search may pass over all others, and is the faster for it: what stands everywhere stops it everywhere. */
  keep(isSought: (shingle: number) => boolean): void;
  /** Begins to search a stream. `onHit` is called with the number of a shingle each time that the shingle occurs. */
  openStream(onHit: (shingle: number) => void): ShingleStream;
};

/** Takes the next bytes of a stream. A shingle that lies across two chunks is found too. A chunk may be overwritten afterwards. */
export type ShingleStream = (chunk: Uint8Array) => void;

/** The last bytes of a window are looked at first. When no shingle holds them, all windows that hold them are passed over. */
const gramBytes = 6;
/** Bits of the filter for each shingle, at least, and the most of all. What falls out of a processor's cache takes ten times as long. */
const filterBitsEach = 40;
const filterBitsLog2Max = 25;

/** Two bits within one word for each gram. `shift`: how far a gram's hash is shifted to be the number of its word. */
type Filter = { words: Int32Array; shift: number };

/**
 * Prepares an empty search for at most so many shingles of so many bytes each (nine to twelve). As Wu and Manber do it:
 * the last six bytes of a window are looked up in a Bloom filter (two bits within one word) of all six bytes that any
 * shingle holds, and most of the time the search goes on several bytes later. Else the window is looked up in an open-addressing table, and only the very
 * bytes are a hit.
 */
export function createShingleSearch(shinglesMax: number, bytesEach = shingleBytes): ShingleSearch {
  const gramsEach = bytesEach - gramBytes + 1;
  // The last four bytes are hashed as one: of a shorter shingle, some of them twice.
  const tailOffset = bytesEach - 4;
  // Up to two thirds of the slots are taken: fewer would be found sooner, and take twice the memory.
  const slotsLog2 = Math.max(log2Above(shinglesMax * 1.5), 4);
  const slots = new Int32Array(2 ** slotsLog2);
  const slotsShift = 32 - slotsLog2;
  const hashes = new Int32Array(shinglesMax);
  const content = new Uint8Array(shinglesMax * bytesEach);
  let size = 0;
  let isSought = (_shingle: number): boolean => true;
  // Made for the shingles that there are when a search begins.
  let filter: Filter | undefined;

  const makeFilter = (): Filter => {
    const sought = Uint32Array.from({ length: size }, (_none, shingle) => shingle).filter(isSought);
    const log2 = Math.min(Math.max(log2Above(sought.length * filterBitsEach), 10), filterBitsLog2Max);
    const made = { words: new Int32Array(2 ** (log2 - 5)), shift: 37 - log2 };
    const view = viewOf(content);
    for (const shingle of sought)
      for (let index = 0; index < gramsEach; index += 1) {
        const gram = gramHash(view, shingle * bytesEach + index);
        const word = gram >>> made.shift;
        made.words[word] = (made.words[word] as number) | (1 << gram) | (1 << (gram >> 5));
      }
    return made;
  };
  const isAt = (shingle: number, bytes: Uint8Array, offset: number): boolean => {
    const start = shingle * bytesEach;
    for (let index = 0; index < bytesEach; index += 1)
      if (content[start + index] !== bytes[offset + index]) return false;
    return true;
  };
  /** The shingle that these bytes are; where they are none, the complement of the free slot that they would get. */
  const find = (hash: number, bytes: Uint8Array, offset: number): number => {
    let slot = Math.imul(hash, 0x9e_37_79_b1) >>> slotsShift;
    for (;;) {
      const shingle = (slots[slot] as number) - 1;
      if (shingle < 0) return ~slot;
      if (hashes[shingle] === hash && isAt(shingle, bytes, offset)) return shingle;
      slot = (slot + 1) & (slots.length - 1);
    }
  };
  const searchChunk = (bytes: Uint8Array, onHit: (shingle: number) => void): void => {
    const { words, shift } = (filter ??= makeFilter());
    const view = viewOf(bytes);
    const startMax = bytes.length - bytesEach;
    let start = 0;
    while (start <= startMax) {
      const gram = gramHash(view, start + bytesEach - gramBytes);
      const word = words[gram >>> shift] as number;
      // Shifts count modulo 32.
      if (((word >>> gram) & (word >>> (gram >> 5)) & 1) === 0) {
        start += gramsEach;
        continue;
      }
      const found = find(shingleHash(view, start, tailOffset), bytes, start);
      if (found >= 0) onHit(found);
      start += 1;
    }
  };

  return {
    size: () => size,
    add: (bytes, offset) => {
      const view = viewOf(bytes);
      const hash = shingleHash(view, offset, tailOffset);
      const found = find(hash, bytes, offset);
      if (found >= 0) return found;
      if (size === shinglesMax) return undefined;
      hashes[size] = hash;
      content.set(bytes.subarray(offset, offset + bytesEach), size * bytesEach);
      slots[~found] = size + 1;
      filter = undefined;
      size += 1;
      return size - 1;
    },
    keep: (whether) => {
      isSought = whether;
      filter = undefined;
    },
    openStream: (onHit) => overlapping(bytesEach - 1, (bytes) => searchChunk(bytes, onHit)),
  };
}

/** Searches each chunk of a stream, and the borders between chunks: so many bytes before each, and as many behind. */
function overlapping(overlapBytes: number, search: (bytes: Uint8Array) => void): ShingleStream {
  const border = new Uint8Array(2 * overlapBytes);
  let carried = 0;
  return (chunk) => {
    const head = Math.min(chunk.length, overlapBytes);
    border.set(chunk.subarray(0, head), carried);
    search(border.subarray(0, carried + head));
    search(chunk);
    if (chunk.length >= overlapBytes) {
      border.set(chunk.subarray(-overlapBytes));
      carried = overlapBytes;
    } else {
      const kept = Math.min(carried + head, overlapBytes);
      border.copyWithin(0, carried + head - kept, carried + head);
      carried = kept;
    }
  };
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function gramHash(view: DataView, offset: number): number {
  return folded(
    (Math.imul(view.getInt32(offset), 0x9e_37_79_b1) + Math.imul(view.getInt16(offset + 4), 0x85_eb_ca_77)) | 0,
  );
}

function shingleHash(view: DataView, offset: number, tailOffset: number): number {
  const head =
    (Math.imul(view.getInt32(offset), 0x9e_37_79_b1) + Math.imul(view.getInt32(offset + 4), 0x85_eb_ca_77)) | 0;
  return folded((head + Math.imul(view.getInt32(offset + tailOffset), 0xc2_b2_ae_3d)) | 0);
}

/** The high bits of a product depend on all of its factors' bits: they are folded into the lower ones. */
function folded(product: number): number {
  return product ^ (product >>> 15);
}

function log2Above(count: number): number {
  return Math.ceil(Math.log2(Math.max(count, 2)));
}
