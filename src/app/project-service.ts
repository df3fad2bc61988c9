import { existsSync } from 'node:fs';
import { createBudget, startsWithinMs, type Budget } from '../client/budget.ts';
import { requireService } from '../client/configured-service.ts';
import { deprecationHint, type Deprecation } from '../client/deprecation.ts';
import { readPace } from '../client/pace.ts';
import { memoryRequestTimes, type Kept, type RequestTimes } from '../client/request-times.ts';
import { createService, type Service } from '../client/service.ts';
import { openTransport } from '../client/transport.ts';
import { sharedRequestTimes } from '../cluster/shared-request-times.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { AppError, systemCode } from '../core/errors.ts';
import type { ProjectHome } from '../job/project-home.ts';
import type { Logger } from '../log/logger.ts';
import { databasePath } from '../mirror/database.ts';
import { openRequestTimes } from '../mirror/request-times.ts';
import type { Connections } from './connections.ts';
import type { SharedParts } from './shared-parts.ts';

/** The service's API for one project, made when it is first asked for. */
export type ProjectService = {
  budget: Budget;
  /** Throws `usage` when the address, the project or the key is not configured. */
  open: () => Service;
  deprecation: () => Deprecation | null;
  close: () => Promise<void>;
};

/** What the service of a project is made of. */
export type ProjectServiceParts = Pick<SharedParts, 'clock' | 'log' | 'tracer' | 'cluster' | 'budgets'> & {
  home: ProjectHome;
  connections: Connections;
  apiKey: string | null;
  keyFrom: string;
};

/** An answer may have one value for so many bytes of `service.bodyBytesMax`. JSON with names of fields needs more for each. */
const bytesPerValue = 16;

/** The service of a project. Nothing is asked yet. */
export function projectService(parts: ProjectServiceParts): ProjectService {
  const { home, clock, log, tracer } = parts;
  const { settings } = home;
  const { service: reach } = settings;
  const budget = budgetOf(parts);
  let service: Service | undefined;
  let deprecation: Deprecation | null = null;
  let close = (): Promise<void> => Promise.resolve();
  const open = (): Service => {
    const { origin, key, keyAdvice } = requireService(settings, parts);
    const transport = openTransport(origin, key, settings.budget.concurrency, reach);
    close = () => transport.close();
    return createService({
      transport: {
        ...transport,
        send: (request) => {
          home.check();
          return transport.send(request);
        },
      },
      budget,
      clock,
      tracer,
      random: Math.random,
      retryLimits: settings.retry,
      jsonDepthMax: reach.jsonDepthMax,
      jsonValuesMax: Math.ceil(reach.bodyBytesMax / bytesPerValue),
      keyAdvice,
      projectPath: `${reach.pathPrefix}/${encodeURIComponent(reach.projectId ?? '')}`,
      ...callLog(log, clock, new URL(origin).host),
      onDeprecated: (declared) => {
        deprecation = declared;
        log.warn(
          { ...declared, fix: deprecationHint(reach.pathPrefix) },
          'the service has declared this address deprecated',
        );
      },
    });
  };
  return { budget, open: () => (service ??= open()), deprecation: () => deprecation, close: () => close() };
}

/** Logs calls that are tried again, and pauses that the service asks for. */
function callLog(
  log: Logger,
  clock: Clock,
  host: string,
): Pick<Parameters<typeof createService>[0], 'onRetry' | 'onThrottled'> {
  let pausedUntilMs = 0;
  return {
    onRetry: ({ code, status, cause }, { endpoint, attempt, delayMs }) => {
      // `onThrottled` logs a 429.
      if (status === 429) return;
      const failed = { code, status, errno: systemCode(cause), host, endpoint };
      log.warn({ ...failed, attempt, delayMs: Math.round(delayMs) }, 'call failed, trying again');
    },
    onThrottled: (pauseMs) => {
      // Requests under way at once are all refused: one line for all of them.
      const untilMs = clock.now() + pauseMs;
      const until = isoTime(untilMs);
      if (untilMs > pausedUntilMs + pauseMs / 2)
        log.warn({ status: 429, pauseMs: Math.round(pauseMs), until }, 'too many requests, pausing');
      pausedUntilMs = Math.max(pausedUntilMs, untilMs);
    },
  };
}

/** The budget of the key at the service, which all projects of this process with that key share. */
function budgetOf(parts: ProjectServiceParts): Budget {
  const { home, clock, log, apiKey, cluster, budgets } = parts;
  const { settings } = home;
  const { baseUrl, totalTimeoutMs } = settings.service;
  const account = sha256(JSON.stringify([baseUrl === null ? null : new URL(baseUrl).origin, apiKey]));
  const known = budgets.get(account);
  if (known) return known;
  const timeoutMs = totalTimeoutMs + startsWithinMs;
  const requestTimes = (clock: Clock, kept: Kept): RequestTimes => {
    const own = ownRequestTimes(parts, clock, { ...kept, timeoutMs });
    return cluster === null ? own : sharedRequestTimes(cluster, { account, timeoutMs }, kept, own);
  };
  const budget = createBudget(settings.budget, clock, requestTimes, (waitMs) => {
    log.info({ until: isoTime(clock.now() + waitMs) }, 'waiting for the budget');
  });
  budgets.set(account, budget);
  return budget;
}

/** Request times are shared by all processes that use the mirror; without a writable mirror this process counts alone. */
function ownRequestTimes(
  { home, connections, log }: ProjectServiceParts,
  clock: Clock,
  kept: Kept & { timeoutMs: number },
): RequestTimes {
  // A copy of the data folder comes and goes.
  if (home.isCopy || !existsSync(databasePath(home.settings.dataDir))) return memoryRequestTimes(clock, kept);
  try {
    return openRequestTimes(connections.another(), clock, { ...kept, readPace });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    log.warn({ code: error.code }, 'the mirror cannot be written, requests of other processes are not counted');
    return memoryRequestTimes(clock, kept);
  }
}
