import { refusals, type ErrorBody } from '../../contract/error-body.ts';

type RefusalName = keyof typeof refusals;

/** Thrown by whatever answers a request, to answer it with one of the known refusals instead. */
export class Refusal extends Error {
  readonly status: (typeof refusals)[RefusalName]['status'];
  readonly body: ErrorBody;

  /** `attr` names the parameter or field that is at fault. */
  constructor(name: RefusalName, detail: string, attr: string | null = null) {
    super(detail);
    const { status, type, code } = refusals[name];
    this.status = status;
    this.body = { type, code, detail, attr };
  }
}

/** The refusal for an id, short id or project that is not there. */
export function notFound(): Refusal {
  return new Refusal('notFound', 'Not found.');
}
