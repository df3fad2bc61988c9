import { createRequire } from 'node:module';
import type * as Asn1 from 'asn1js';
import type * as Pki from 'pkijs';

type Asn1Api = { asn1: typeof Asn1; pki: typeof Pki };

let api: Asn1Api | undefined;

/** The packages that read and write ASN.1. The first call loads them, so that a program without time stamps never does. */
export function asn1Api(): Asn1Api {
  const require = createRequire(import.meta.url);
  return (api ??= { asn1: require('asn1js') as typeof Asn1, pki: require('pkijs') as typeof Pki });
}
