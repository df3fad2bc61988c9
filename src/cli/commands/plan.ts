import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { learntText, pauseText } from '../../client/budget-standing.ts';
import { countText, durationText, secondText } from '../../core/words.ts';
import { databasePath } from '../../mirror/database.ts';
import { planPasses, walkedRows, type PassPlan } from '../../status/cost-forecast.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { formatTable } from '../table.ts';

/** Defines `plan`: forecasts the cost of full passes under the budget. */
export function define(_command: Command, context: CommandContext): CommandAction {
  return {
    help: `
Asks the service for its counts, with one request for each list. Where the service gives no count, or the budget is used
up, the mirror's count is taken, if a full pass has ended. Each time is the shortest that the budget allows, after the requests that other commands
have already made. The service may need some seconds for each page, which is not counted.

Examples:
  analytics-mirror plan
  analytics-mirror plan --set persons.pageSize=100 --json`,
    run: async (app) => {
      const { settings, budget, clock } = app;
      const plan = await planPasses({
        settings,
        service: app.service(),
        budget,
        mirrorRows: existsSync(databasePath(settings.dataDir)) ? walkedRows(app.databaseReadOnly()) : null,
        signal: context.signal,
        nowMs: () => clock.now(),
      });
      return { json: plan, text: planText(plan) };
    },
  };
}

/** A forecast as text. */
export function planText({ passes, requests, seconds, finishAt, requestsLeft, budget }: PassPlan): string {
  const unknown = '?';
  const table = formatTable(
    ['full pass', 'rows', 'count from', 'requests', { right: 'takes at least' }, 'ends'],
    [
      ...passes.map((pass) => [
        pass.dataset,
        pass.rows ?? unknown,
        pass.rowsFrom === null ? 'no answer has it' : `the ${pass.rowsFrom}`,
        pass.requests ?? unknown,
        pass.seconds === null ? unknown : durationText(pass.seconds * 1000),
        pass.finishAt === null ? unknown : secondText(pass.finishAt),
      ]),
      ['all', '', '', requests, durationText(seconds * 1000), secondText(finishAt)],
    ],
  );
  const left = requestsLeft === null ? 'No window limits requests' : `${countText(requestsLeft)} requests may go now`;
  const taught = [...pauseText(budget), ...learntText(budget)].map((sentence) => `${sentence}\n`).join('');
  return `${table}\n${left}; lists that change while they are walked cost more.\n${taught}`;
}
