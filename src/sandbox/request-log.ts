/** One request to an endpoint, as the service saw it. */
export type LoggedRequest = {
  /** When it arrived, on the service's clock; never less than the one before. */
  atMs: number;
  endpoint: string;
  /** 0 while there is none, and where none was sent. */
  status: number;
  /** As it was asked, null where it was not. */
  offset: number | null;
  limit: number | null;
  /** 0 for the key with every scope, 1 for the read-only key, others as they came; null for an unknown one. */
  keyIndex: number | null;
};

export type RequestLog = ReturnType<typeof requestLog>;

/** The latest `capacity` requests, in the order in which they arrived. */
export function requestLog(capacity: number) {
  let entries: LoggedRequest[] = [];
  return {
    /** Keeps the entry itself: its status may be filled in later. */
    add(entry: LoggedRequest): void {
      entries.push(entry);
      // Cut now and then, not each time: a shift of a long list moves all of it.
      if (entries.length >= capacity * 2) entries = entries.slice(-capacity);
    },
    all: (): LoggedRequest[] => entries.slice(-capacity),
    clear: (): void => {
      entries = [];
    },
  };
}
