import type { Command, Option } from 'commander';

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
