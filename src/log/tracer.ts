/** What a span holds: names of this program and numbers, never an identifier, a URL, or a person's data. */
type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Adds attributes to a span that is under way. */
export type SetAttributes = (attributes: Attributes) => void;

/** Records how long work takes, and which work is part of which. */
export type Tracer = {
  /** Does work as a span, inside the span that the caller works in, if there is one. Settles as the work does. */
  span<T>(
    name: string,
    about: { kind: 'internal' | 'client'; attributes: Attributes },
    work: (set: SetAttributes) => Promise<T>,
  ): Promise<T>;
  /** Sends the spans that are left. Gives up after three seconds. */
  close(): Promise<void>;
};

/** A tracer that records nothing. */
export const silentTracer: Tracer = {
  span: (_name, _about, work) => work(() => undefined),
  close: () => Promise.resolve(),
};
