/** Bytes in pieces, as a stream gives them. */
export type Chunks = AsyncIterable<Buffer>;

/** Prepares a reader of chunks by numbers of bytes, which has read nothing yet. Its calls reject as the chunks do. */
export function readChunks(content: Chunks) {
  const source = content[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let position = 0;
  const fill = async (bytes: number): Promise<void> => {
    const chunks = [held];
    let size = held.length;
    while (size < bytes) {
      const next = await source.next();
      if (next.done) break;
      chunks.push(next.value);
      size += next.value.length;
    }
    if (chunks.length > 1) held = Buffer.concat(chunks, size);
  };
  const takeHeld = (bytes: number): Buffer => {
    const taken = held.subarray(0, bytes);
    held = held.subarray(taken.length);
    position += taken.length;
    return taken;
  };
  return {
    /** How many bytes were taken. */
    position: () => position,
    /** The next bytes, which stay; fewer at the end. */
    peek: async (bytes: number): Promise<Buffer> => {
      await fill(bytes);
      return held.subarray(0, bytes);
    },
    take: async (bytes: number): Promise<Buffer> => {
      await fill(bytes);
      return takeHeld(bytes);
    },
    /** The next bytes as they come: so many of them, or all. */
    async *chunks(bytes = Infinity): AsyncGenerator<Buffer> {
      for (let left = bytes; left > 0;) {
        if (held.length === 0) await fill(1);
        if (held.length === 0) return;
        const chunk = takeHeld(Math.min(left, held.length));
        left -= chunk.length;
        yield chunk;
      }
    },
  };
}
