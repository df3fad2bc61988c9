import { z } from 'zod';

/** The kinds of identifier by which a person is named from outside, and the form of each. */
export const identifierForms = {
  uuid: z.guid().transform((value) => value.toLowerCase()),
  // Spreadsheets fill numbers up with zeros: with them, nobody would be found by it.
  id: z
    .string()
    .regex(/^\d{1,19}$/, 'is a number')
    .transform((value) => value.replace(/^0+(?=\d)/, '')),
  distinct_id: z.string().min(1).max(1000),
  // Nobody's address is written `<ann@example.com>`, as a link, or with a mark behind it: nobody would be found by it.
  email: z
    .string()
    .max(1000)
    .regex(/^(?!<|[Mm][Aa][Ii][Ll][Tt][Oo]:)[^\s@]+@[^\s@]*[^\s@>"',;]$/, 'is an e-mail address'),
} as const;

/** A kind of identifier by which a person is named from outside. */
export type NamingKind = keyof typeof identifierForms;

/** All of these kinds. */
export const namingKinds = Object.keys(identifierForms) as [NamingKind, ...NamingKind[]];
