import { countedText } from '../core/words.ts';
import type { StaysOut } from '../mirror/listed-again.ts';

/** What became of rows that were taken for deleted at the service, and that it shows again. */
export type ListedAgain = {
  /** How many the newest reconciliation has let in. */
  letIn: number;
  /** How many are listed and stay out, by reason; null: they were not asked for yet. */
  out: { why: StaysOut | null; rows: number }[];
};

const words: Readonly<Record<StaysOut | 'not_asked', string>> = {
  not_asked: '`reconcile` asks for their ids, and lets in what the service has',
  not_found: 'the service answers 404 for their ids, so its list is behind, or wrong',
  not_answered: 'the service has given no answer for their ids that can be used',
  still_open: 'the requests about their deletion are not ended: see `erase list`',
};

/** What is said of them, each in one sentence; nothing where there are none. Commands stand between backticks. */
export function listedAgainTexts({ letIn, out }: ListedAgain): string[] {
  return [
    ...(letIn > 0
      ? [
          `LET IN AGAIN: ${countedText(letIn, 'row')} taken for deleted at the service, which has them; the next pass stores them`,
        ]
      : []),
    ...out.map(
      ({ why, rows }) =>
        `STAYS OUT: ${countedText(rows, 'row')} taken for deleted at the service, and listed again; ${words[why ?? 'not_asked']}`,
    ),
  ];
}
