import { z } from 'zod';
import { AppError } from '../core/errors.ts';

/** One page of a list, as a live service may send it: only its rows are certain. */
const Envelope = z.object({
  results: z.array(z.unknown()),
  next: z.string().nullish(),
  has_next: z.boolean().nullish(),
  count: z.int().nullish(),
});
export type Envelope = z.infer<typeof Envelope>;

/** The envelope of a page. Throws `service` for an answer that is not a page of a list. */
export function readEnvelope(body: unknown): Envelope {
  const envelope = Envelope.safeParse(body);
  if (envelope.success) return envelope.data;
  throw new AppError('the service answered with something that is not a page of a list', {
    code: 'service',
    hint: 'check service.baseUrl and service.pathPrefix; nothing was taken from the answer',
  });
}
