import diagnostics from 'node:diagnostics_channel';

/** Where a script that is killed says by name how far it is. */
export const namedPoints = diagnostics.channel('mirror:named-point');
