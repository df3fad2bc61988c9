/** How much is logged, from all to nothing. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
