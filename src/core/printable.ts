/** A text on one line: control characters, which could move a terminal's cursor or colour it, become spaces. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}
