/** The commands as they are declared, as plain data: the completion of shells and the manual are made of it (L1). */
import type { Command, Option } from "commander";

export interface DescribedCommand {
  /** The words that name it, with the program's name first. */
  path: readonly string[];
  about: string;
  /** The arguments, as in the help: `[id] <name>`. */
  usage: string;
  options: readonly DescribedOption[];
  commands: readonly DescribedCommand[];
}

export interface DescribedOption {
  /** The flags as they are declared: `-s, --session <id>`. */
  flags: string;
  /** The words that a person types: `--session`, `-s`. */
  words: readonly string[];
  about: string;
  choices: readonly string[];
  takesValue: boolean;
}

export function describeCommand(command: Command, before: readonly string[] = []): DescribedCommand {
  const path = [...before, command.name()];
  return {
    path,
    about: command.description(),
    usage: command.registeredArguments
      .map((argument) => {
        const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
        return argument.required ? `<${name}>` : `[${name}]`;
      })
      .join(" "),
    options: command.options.map(describeOption),
    commands: command.commands.map((child) => describeCommand(child, path)),
  };
}

function describeOption(option: Option): DescribedOption {
  const { flags, long, short, description, argChoices = [] } = option;
  return {
    flags,
    words: [long, short].filter((word) => word !== undefined && word !== null),
    about: description,
    choices: argChoices,
    takesValue: option.required || option.optional,
  };
}

/** Returns the command and all commands below it. */
export function everyCommand(command: DescribedCommand): DescribedCommand[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
