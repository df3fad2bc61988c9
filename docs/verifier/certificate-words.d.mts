/** What a certificate does not prove. `target`: null where it is not about one. `until`: null where it gives no time. */
export type NotProven = { target: string | null; says: string; until: string | null };

export declare const wordsVersion: number;
export declare function certificateWords(certificate: object): {
  summary: string;
  notProven: NotProven[];
  statements: string[];
};
