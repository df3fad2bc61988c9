import { Argument, type Command, type Option } from 'commander';
import type { CommandAction, CommandContext } from '../command.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** Defines `completion`: prints a script that completes commands, options and their values. */
export function define(command: Command, context: CommandContext): CommandAction {
  command.addArgument(new Argument('<shell>', 'the shell that reads the script').choices(shells));
  return {
    help: `
Examples:
  analytics-mirror completion bash > ~/.local/share/bash-completion/completions/analytics-mirror
  analytics-mirror completion zsh > "\${fpath[1]}/_analytics-mirror"
  analytics-mirror completion fish > ~/.config/fish/completions/analytics-mirror.fish`,
    act: (shell: Shell) => {
      context.stdout.write(scripts[shell](completedCommands(command.parent ?? command)));
      return Promise.resolve();
    },
  };
}

const namesOf = (words: readonly { name: string }[]): string => words.map(({ name }) => name).join(' ');
/** The options before which a command may stand: those of the program. */
const commonOf = (commands: readonly CompletedCommand[]): CompletedOption[] => commands[0]?.options ?? [];

/** A branch of a `case` for each list that is not empty. */
function branches(lists: readonly (readonly [pattern: string, list: string])[]): string {
  return lists
    .filter(([, list]) => list !== '')
    .map(([pattern, list]) => `      ${pattern}) list='${list}' ;;\n`)
    .join('');
}

/** `at`: the command so far. No name here is one that zsh keeps for itself, as `path` and `words` are. */
const bash = (commands: readonly CompletedCommand[]): string => {
  const common = commonOf(commands);
  const named = commands.filter(({ at }) => at !== '');
  const valueOf = (pattern: string, options: readonly CompletedOption[]) =>
    options.flatMap(({ name, takesValue, values }) => (takesValue ? [{ pattern: `${pattern} ${name}'`, values }] : []));
  const taking = [...named.flatMap(({ at, options }) => valueOf(`'${at}`, options)), ...valueOf("*'", common)];
  const free = taking.filter(({ values }) => values.length === 0).map(({ pattern }) => pattern);
  return `_analytics_mirror() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at='' list='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${named.map(({ at }) => `'${at.includes(' ') ? at : ` ${at}`}'`).join('|')}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
      ${valueOf("*'", common)
        .map(({ pattern }) => pattern)
        .join('|')}) i=$((i + 1)) ;;
    esac
  done
  if [ "$cur" = = ]; then cur=''; elif [ "$prev" = = ]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  case "$at $prev" in
${branches(taking.map(({ pattern, values }) => [pattern, values.join(' ')]))}      ${free.join('|')}) ;;
      *) case "$cur" in
      -*) case "$at" in
${branches(named.map(({ at, options }) => [`'${at}'`, namesOf(options)]))}      esac
      list="$list ${namesOf(common)}" ;;
      *) case "$at" in
${branches(commands.map(({ at, below, values }) => [`'${at}'`, [namesOf(below), ...values].join(' ').trim()]))}      esac ;;
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$list" -- "$cur"))
}
complete -o default -F _analytics_mirror analytics-mirror
`;
};

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, (character) => `\\${character}`)}'`;

const fish = (commands: readonly CompletedCommand[]): string => {
  const groups = commands.filter(({ at, below }) => at !== '' && below.length > 0);
  const seen = (names: string): string => `__fish_seen_subcommand_from ${names}`;
  const condition = ({ at, below }: CompletedCommand): string => {
    if (at === '') return '__fish_use_subcommand';
    const [first = '', second] = at.split(' ');
    if (second !== undefined) return `${seen(first)}; and ${seen(second)}`;
    return `${seen(first)}; and not ${seen(namesOf(below) || groups.map((group) => group.at).join(' '))}`;
  };
  const optionLine = (where: string, { name, does, takesValue, values }: CompletedOption): string => {
    const takes = values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : takesValue ? ' -r' : '';
    return `complete -c analytics-mirror${where} -l ${name.slice(2)}${takes} -d ${quoted(does)}\n`;
  };
  const lines = commands.flatMap((command) => {
    const where = ` -n ${quoted(condition(command))}`;
    return [
      ...command.below.map(
        ({ name, does }) => `complete -c analytics-mirror${where} -f -a ${name} -d ${quoted(does)}\n`,
      ),
      ...(command.values.length === 0
        ? []
        : [`complete -c analytics-mirror${where} -f -a ${quoted(command.values.join(' '))}\n`]),
      ...(command.at === '' ? [] : command.options).map((option) => optionLine(where, option)),
    ];
  });
  return [...lines, ...commonOf(commands).map((option) => optionLine('', option))].join('');
};

const scripts: Readonly<Record<Shell, (commands: readonly CompletedCommand[]) => string>> = {
  bash,
  zsh: (commands) =>
    // From its file, zsh reads the script at the first Tab, and then has to complete as well.
    `#compdef analytics-mirror\nautoload -U +X bashcompinit && bashcompinit\n${bash(commands)}` +
    `if [ "\${funcstack[1]}" = _analytics-mirror ]; then _bash_complete -o default -F _analytics_mirror; fi\n`,
  fish,
};

/** A word that may be completed, and what it means. */
type Word = { name: string; does: string };

/** An option of a command. `values`: those that are known of what it takes. */
export type CompletedOption = Word & { takesValue: boolean; values: readonly string[] };

/** A command as a shell completes it: the commands below it, its options, and the values that its arguments may have. */
export type CompletedCommand = {
  /** Its words, with a blank between; empty for the program itself. */
  at: string;
  below: Word[];
  values: string[];
  /** Its own. Those of the program, with `--help`, may stand behind every command. */
  options: CompletedOption[];
};

/** A program and all its commands, in the order of the help. They have to be defined in full. */
export function completedCommands(command: Command, at = ''): CompletedCommand[] {
  const help = command.createHelp();
  const below = command.commands.map((each) => ({ name: each.name(), does: each.description() }));
  const own: CompletedCommand = {
    at,
    below,
    values: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    options: help
      .visibleOptions(command)
      .flatMap(completedOption)
      .filter(({ name }) => at === '' || name !== '--help'),
  };
  const nested = command.commands.map((each) => completedCommands(each, `${at} ${each.name()}`.trim()));
  return [own, ...nested.flat()];
}

function completedOption({ long, description, required, optional, argChoices = [] }: Option): CompletedOption[] {
  return long ? [{ name: long, does: description, takesValue: required || optional, values: argChoices }] : [];
}
