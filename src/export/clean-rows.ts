import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import { rowMarks, RowText } from '../contract/row-text.ts';
import { cleanJson, mayNeedCleaning } from '../core/clean-json.ts';
import type { Row } from '../snapshot/columns.ts';

/** Makes the JSON columns of rows such that every engine reads them. `replaced` counts the characters, by column. */
type RowCleaner = {
  cleanRow: (row: Row) => Row;
  cleanText: (rows: RowText) => RowText;
  replaced: Readonly<Record<string, number>>;
};

/** What cleans the rows of a dataset. A row, or a text of rows, that needs nothing is returned as it is. */
export function rowCleaner(dataset: PublishedDataset): RowCleaner {
  const fields = datasets[dataset].publishedFields;
  const replaced: Record<string, number> = {};
  const counters = fields.map(({ kind, column }) =>
    kind === 'json' ? (count: number) => void (replaced[column] = (replaced[column] ?? 0) + count) : undefined,
  );
  const json = fields.flatMap(({ name }, at) => (counters[at] ? [{ name, count: counters[at] }] : []));
  const cleanRow = (row: Row): Row => {
    const cleaned = json.flatMap(({ name, count }) => {
      const text = row[name];
      return typeof text === 'string' && mayNeedCleaning(text) ? [[name, cleanJson(text, count)] as const] : [];
    });
    return cleaned.length === 0 ? row : { ...row, ...Object.fromEntries(cleaned) };
  };
  // As Latin-1, every byte is a character: marks and escapes are found all the same.
  const cleanText = (rows: RowText): RowText => {
    if (!rows.bytes.includes('\\u')) return rows;
    const text = rows.bytes.toString('latin1');
    if (!mayNeedCleaning(text)) return rows;
    const cleanField = (field: string, at: number): string =>
      counters[at] ? cleanJson(field, counters[at], '\u00EF\u00BF\u00BD') : field;
    const lines = text
      .split(rowMarks.row)
      .map((line) => (mayNeedCleaning(line) ? line.split(rowMarks.field).map(cleanField).join(rowMarks.field) : line));
    return new RowText(Buffer.from(lines.join(rowMarks.row), 'latin1'), rows);
  };
  return { cleanRow, cleanText, replaced };
}
