/** The words that ask for the help of a command. The parser reads only one word after `help`, and shows the help of all commands for one that it does not know. */
import type { Command } from "commander";

/** Returns arguments for the parser that mean the same: `help session log` is `session log --help`, and an unknown word is refused as a command. */
export function withHelpOption(program: Command, argv: readonly string[]): readonly string[] {
  const at = argv.indexOf("help");
  const path = argv.slice(0, at);
  const group = at === -1 ? undefined : commandAt(program, path);
  // A command without others may have the word as an argument.
  if (group === undefined || group.commands.length === 0) return argv;
  for (const word of argv.slice(at + 1)) {
    const command = commandAt(program, path);
    if (word.startsWith("-") || command === undefined || command.commands.length === 0) break;
    path.push(word);
  }
  return commandAt(program, path) === undefined ? path : [...path, "--help"];
}

function commandAt(program: Command, path: readonly string[]): Command | undefined {
  return path.reduce<Command | undefined>(
    (command, word) => command?.commands.find((each) => each.name() === word || each.aliases().includes(word)),
    program,
  );
}
