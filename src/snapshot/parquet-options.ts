/** How pages are compressed. `snappy` is for readers that have no zstd. */
export type Compression = 'zstd' | 'snappy';

const compressions: Readonly<Record<Compression, string>> = {
  zstd: 'COMPRESSION zstd, COMPRESSION_LEVEL 1',
  snappy: 'COMPRESSION snappy',
};

const rowGroupRowsMax = 20_480;
// Keeps memory flat when rows are of a megabyte each; common rows reach the limit of rows first.
const rowGroupBytesMax = 16 * 1024 * 1024;

/** The options of `COPY … TO` with which every published file is written. */
export function copyOptions(compression: Compression): string {
  return `(FORMAT parquet, ${compressions[compression]}, ROW_GROUP_SIZE ${rowGroupRowsMax},
    ROW_GROUP_SIZE_BYTES ${rowGroupBytesMax}, USE_TMP_FILE false)`;
}
