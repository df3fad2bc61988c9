import { defineAttacks } from './attacks-suite.ts';

defineAttacks({ bytes: 1, carried: 3, attacks: 1 });
