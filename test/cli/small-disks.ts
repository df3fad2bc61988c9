import { spawnSync } from 'node:child_process';

/**
 * A disk that can be filled, below the data folder of MIRROR_DATA_DIR, which has to be there. `around` makes of a script
 * the shell line to run it on that disk; in it, `fill BYTES` leaves room for that much, and `free` gives it back.
 */
export type SmallDisk = { name: 'a limit on the size of files' | 'a full disk'; around: (script: string) => string };

const mayMount = spawnSync('unshare', ['--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']);

/** Those that this machine has. */
export const smallDisks: readonly SmallDisk[] = [
  {
    // What nobody may forbid. It stands for a full disk where none can be made.
    name: 'a limit on the size of files',
    around: (script) => `fill() { ulimit -S -f $(($1 / 512)); }; free() { ulimit -S -f unlimited; }\n${script}`,
  },
  ...(mayMount.status === 0 ? [fullDisk()] : []),
];

/** A file system of its own in a namespace of its own, gone when the script ends. */
function fullDisk(): SmallDisk {
  return {
    name: 'a full disk',
    around: (script) =>
      `exec unshare --map-root-user --mount sh -c 'mount -t tmpfs -o size=24m,mode=700 none "$MIRROR_DATA_DIR" || exit 99
        fill() { cat /dev/zero > "$MIRROR_DATA_DIR/ballast" 2> /dev/null; truncate -s "-$1" "$MIRROR_DATA_DIR/ballast"; }
        free() { rm "$MIRROR_DATA_DIR/ballast"; }\n${script}' sh "$@"`,
  };
}
