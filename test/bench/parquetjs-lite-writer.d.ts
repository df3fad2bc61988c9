declare module 'parquetjs-lite' {
  type ParquetField = { type: string; compression?: string; optional?: boolean; repeated?: boolean };
  type ParquetSchema = { schema: Record<string, ParquetField> };
  type ParquetWriter = { appendRow(row: Record<string, unknown>): Promise<void>; close(): Promise<void> };
  // CommonJS: in Node, its names are those of the default export.
  const parquetjs: {
    ParquetSchema: new (fields: Record<string, ParquetField>) => ParquetSchema;
    ParquetWriter: {
      openFile(schema: ParquetSchema, path: string, options?: { rowGroupSize?: number }): Promise<ParquetWriter>;
    };
  };
  export default parquetjs;
}
