import { defineAttacks } from './attacks-suite.ts';

defineAttacks({ bytes: 97, carried: 997, attacks: 7 });
