/** What stands between rows, between the fields of a row, and in place of a field that is null. */
export const rowMarks = { row: '\u001E', field: '\u001F', none: '\u001D' } as const;

/**
 * Rows of the mirror as one text in UTF-8, for a reader that splits it. Each row has every published field in order, each as
 * SQLite writes it as text. No field holds one of the marks, and no list a backslash: so a list is split at `","`.
 */
export class RowText {
  readonly bytes: Buffer;
  readonly rows: number;
  /** What the first and the last row are sorted by. */
  readonly first: SortValues;
  readonly last: SortValues;

  constructor(bytes: Buffer, about: Omit<RowText, 'bytes'>) {
    this.bytes = bytes;
    this.rows = about.rows;
    this.first = about.first;
    this.last = about.last;
  }
}

/** The values of the fields that the rows of a dataset are sorted by. */
export type SortValues = readonly string[];
