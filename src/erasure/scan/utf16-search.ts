import type { ShingleStream } from './shingle-search.ts';

/** Before a chunk that may hold UTF-16, and after it, so many bytes are read along: a text can lie across the border. */
const borderBytes = 64;
const labels = ['utf-16le', 'utf-16be'] as const;

/**
 * Finds text in UTF-16, of both byte orders and at even and odd offsets, and passes it on as UTF-8: what a search for UTF-8
 * finds and leaves is then the same. A chunk is read as UTF-16 where a run of a few ASCII characters shows it, as in every
 * address, uuid or line of a log; and all of a file that begins with a byte order mark.
 */
export function createUtf16Search(openSearch: () => ShingleStream): ShingleStream {
  let tail = Buffer.alloc(0);
  let lanes: ShingleStream[] | undefined;
  let isMarked: boolean | undefined;
  return (bytes) => {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    isMarked ??= chunk.length >= 2 && ['fffe', 'feff'].includes(chunk.toString('hex', 0, 2));
    if (isMarked || holdsAsciiRun(chunk)) {
      // The lanes of one start share their parity only with chunks of even length: so each start has both.
      if (!lanes) {
        lanes = openLanes(openSearch);
        for (const lane of lanes) lane(tail);
      }
      for (const lane of lanes) lane(chunk);
    } else if (lanes) {
      for (const lane of lanes) lane(chunk.subarray(0, borderBytes));
      lanes = undefined;
    }
    tail = Buffer.concat([tail, chunk.subarray(-borderBytes)]).subarray(-borderBytes);
  };
}

/** A lane for each byte order and each parity of the offset. */
function openLanes(openSearch: () => ShingleStream): ShingleStream[] {
  return labels.flatMap((label) =>
    [0, 1].map((skipped) => {
      const decoder = new TextDecoder(label, { ignoreBOM: true });
      const search = openSearch();
      let left = skipped;
      return (chunk: Uint8Array) => {
        const from = Math.min(left, chunk.length);
        left -= from;
        search(Buffer.from(decoder.decode(chunk.subarray(from), { stream: true })));
      };
    }),
  );
}

/**
 * Whether three ASCII characters in UTF-16 stand in a row, at a place that is a multiple of eight or next to one: every run of
 * seven characters has such a place.
 */
function holdsAsciiRun(bytes: Uint8Array): boolean {
  const isText = (at: number): boolean => {
    const byte = bytes[at] as number;
    return byte >= 0x20 && byte < 0x7f;
  };
  for (let at = 0; at + 5 < bytes.length; at += 8) {
    if (bytes[at + 2] === 0 && bytes[at] === 0 && bytes[at + 4] === 0) {
      if (isText(at + 1) && isText(at + 3)) return true;
    } else if (bytes[at + 3] === 0 && bytes[at + 1] === 0 && bytes[at + 5] === 0 && isText(at + 2) && isText(at + 4))
      return true;
  }
  return false;
}
