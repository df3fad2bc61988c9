/** The sentence that says what a verification found, by its code; the code itself where it is none of these. */
export declare function verdictWords(problem: string): string;
