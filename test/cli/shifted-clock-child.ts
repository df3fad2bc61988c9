// Preloaded into a command: its clock is ahead by CLOCK_AHEAD_MS milliseconds.
const aheadMs = Number(process.env['CLOCK_AHEAD_MS']);
const { now } = Date;
Date.now = () => now() + aheadMs;
