/** One request to an endpoint, as the service saw it. */
export type LoggedRequest = {
  /** When it arrived, on the service's clock; never earlier than the request before. */
  atMs: number;
  endpoint: string;
  /** 0 until the answer is sent, and if no answer is sent. */
  status: number;
  /** As in the request; null if it names none. */
  offset: number | null;
  limit: number | null;
  /** 0 for the key with every scope, 1 for the read-only key, 2 and more for others; null for an unknown key. */
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
      // The list is cut only now and then: removing the first item of a long list moves all others.
      if (entries.length >= capacity * 2) entries = entries.slice(-capacity);
    },
    all: (): LoggedRequest[] => entries.slice(-capacity),
    clear: (): void => {
      entries = [];
    },
  };
}
