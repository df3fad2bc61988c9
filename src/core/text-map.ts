import { randomInt } from 'node:crypto';

/**
 * Numbers by text, in eight bytes a slot: a hash of the text, and the number. Two texts can have one hash, so that whatever is found
 * has to be looked at. No slot is ever emptied.
 */
export class TextMap {
  size = 0;
  private slots = new Uint32Array(2 << 12);
  /** Nobody who sends texts can know which of them have one hash. */
  private readonly seed = randomInt(2 ** 32);

  /** The first number, of those that may be meant, that is right. */
  find(text: string, isRight: (number: number) => boolean): number | undefined {
    const { slots } = this;
    const mask = slots.length / 2 - 1;
    const hash = this.hashOf(text);
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const number = slots[2 * at + 1] ?? 0;
      if (number === 0) return undefined;
      if (slots[2 * at] === hash && isRight(number)) return number;
    }
  }

  /** Adds a number, which is above 0 and below 2 ** 32. A text can have several. */
  add(text: string, number: number): void {
    if ((this.size + 1) * 4 > (this.slots.length / 2) * 3) this.grow();
    this.put(this.hashOf(text), number);
    this.size += 1;
  }

  private put(hash: number, number: number): void {
    const { slots } = this;
    const mask = slots.length / 2 - 1;
    let at = hash & mask;
    while (slots[2 * at + 1] !== 0) at = (at + 1) & mask;
    slots[2 * at] = hash;
    slots[2 * at + 1] = number;
  }

  private grow(): void {
    const before = this.slots;
    this.slots = new Uint32Array(before.length * 2);
    for (let at = 0; at < before.length; at += 2)
      if (before[at + 1] !== 0) this.put(before[at] ?? 0, before[at + 1] ?? 0);
  }

  /** FNV-1a over the text's units, from a start that is another in each map, and mixed once more for the low bits. */
  private hashOf(text: string): number {
    let hash = this.seed;
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    return (hash ^ (hash >>> 13)) >>> 0;
  }
}
