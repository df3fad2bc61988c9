import type { Answer } from './answer.ts';
import type { KnownSender } from './sender.ts';

/** A call as it comes in. The body is read only where it is wanted; undefined where it is longer than `bytesMax`. */
export type Call = {
  method: string;
  path: string;
  header: (name: string) => string | undefined;
  readBody: (bytesMax: number) => Promise<Buffer | undefined>;
};

/** A way into the intake, for senders with keys of their own or for agents. `act` gets what the path names. */
export type Route = {
  path: RegExp;
  method: 'GET' | 'POST';
  profile: 'plain' | 'agent';
  act: (call: Call, sender: KnownSender, named: string) => Promise<Answer>;
};
