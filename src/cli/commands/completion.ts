import { Argument, type Command } from 'commander';
import type { CommandAction, CommandContext } from '../command.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** Defines `completion`: prints a script that completes the commands and the options of every command. */
export function define(command: Command, context: CommandContext): CommandAction {
  command.addArgument(new Argument('<shell>', 'the shell that reads the script').choices(shells));
  return {
    help: `
Examples:
  analytics-mirror completion bash > ~/.local/share/bash-completion/completions/analytics-mirror
  analytics-mirror completion zsh > "\${fpath[1]}/_analytics-mirror"
  analytics-mirror completion fish > ~/.config/fish/completions/analytics-mirror.fish`,
    act: (shell: Shell) => {
      const program = command.parent ?? command;
      const options = program.options.flatMap(({ long }) => long ?? []).join(' ');
      context.stdout.write(scripts[shell](wordsOf(program), options));
      return Promise.resolve();
    },
  };
}

/** The words that may follow the program's name, and those that may follow a command that has commands of its own. */
function wordsOf({ commands }: Command): Map<string, string> {
  const names = (list: readonly Command[]): string => list.map((each) => each.name()).join(' ');
  const nested = commands.filter((each) => each.commands.length > 0);
  return new Map([
    ['', names(commands)],
    ...nested.map((each): [string, string] => [each.name(), names(each.commands)]),
  ]);
}

const bash = (words: Map<string, string>, options: string): string => {
  const cases = [...words].filter(([name]) => name !== '').map(([name, list]) => `    ${name}) words='${list}' ;;\n`);
  return `_analytics_mirror() {
  local words=''
  case "\${COMP_WORDS[1]}" in
${cases.join('')}  esac
  [ "$COMP_CWORD" = 1 ] && words='${words.get('') ?? ''}'
  [ "$COMP_CWORD" -gt 2 ] && words=''
  case "\${COMP_WORDS[COMP_CWORD]}" in -*) words='${options}' ;; esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _analytics_mirror analytics-mirror
`;
};

const fish = (words: Map<string, string>, options: string): string =>
  [
    ...[...words].map(([name, list]) => {
      const where = name === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${name}`;
      return `complete -c analytics-mirror -n '${where}' -f -a '${list}'\n`;
    }),
    ...options.split(' ').map((option) => `complete -c analytics-mirror -l ${option.slice(2)}\n`),
  ].join('');

const scripts: Readonly<Record<Shell, (words: Map<string, string>, options: string) => string>> = {
  bash,
  zsh: (words, options) =>
    // From its file, zsh reads the script at the first Tab, and then has to complete as well.
    `#compdef analytics-mirror\nautoload -U +X bashcompinit && bashcompinit\n${bash(words, options)}` +
    `if [ "\${funcstack[1]}" = _analytics-mirror ]; then _bash_complete -o default -F _analytics_mirror; fi\n`,
  fish,
};
