/** The completion of shells, made from the declarations of the commands (L1). */
import { everyCommand, type DescribedCommand } from "./described-commands.ts";

export const completedShells = ["bash", "zsh", "fish"] as const;
export type CompletedShell = (typeof completedShells)[number];

interface Completed {
  word: string;
  about: string;
}

export function completionScript(shell: CompletedShell, program: DescribedCommand): string {
  return { bash, zsh, fish }[shell](program);
}

/** Returns what can follow a command: its commands, then its options. */
function following({ commands, options }: DescribedCommand, program: DescribedCommand): Completed[] {
  const shared = program.options.flatMap(({ words, about }) => words.map((word) => ({ word, about })));
  return [
    ...commands.map(({ path, about }) => ({ word: path.at(-1) ?? "", about })),
    ...options.flatMap(({ words, about }) => words.map((word) => ({ word, about }))),
    ...shared.filter(({ word }) => !options.some(({ words }) => words.includes(word))),
    { word: "--help", about: "print help" },
  ];
}

function groupsOf(program: DescribedCommand): string[] {
  return everyCommand(program)
    .slice(1)
    .map(({ path }) => `"${path.join(" ")}"`);
}

/** Finds the command in the words before the cursor. The same lines work in bash and zsh. */
function findPath(program: DescribedCommand, words: string): string {
  const [name = ""] = program.path;
  return `  local path="${name}" word
  for word in ${words}; do
    case "$path $word" in
      ${groupsOf(program).join("|")}) path="$path $word" ;;
    esac
  done`;
}

function bash(program: DescribedCommand): string {
  const [name = ""] = program.path;
  const cases = everyCommand(program).map((command) => {
    const words = following(command, program).map(({ word }) => word);
    return `    "${command.path.join(" ")}") words="${words.join(" ")}" ;;`;
  });
  return `# bash completion of ${name}: source <(${name} completion bash)
_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
${findPath(program, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}
`;
}

function zsh(program: DescribedCommand): string {
  const [name = ""] = program.path;
  const cases = everyCommand(program).map((command) => {
    const words = following(command, program).map(({ word, about }) =>
      quoted(`${word.replaceAll(":", "\\:")}:${about}`),
    );
    return `    "${command.path.join(" ")}") found=(${words.join(" ")}) ;;`;
  });
  return `#compdef ${name}
# zsh completion of ${name}: ${name} completion zsh > a file named _${name} in a folder of $fpath
_${name}() {
  local -a found
${findPath(program, '"${words[@]:1:$((CURRENT-2))}"')}
  case "$path" in
${cases.join("\n")}
  esac
  _describe -t commands ${name} found
  _files
}
if [ "$funcstack[1]" = "_${name}" ]; then _${name} "$@"; else compdef _${name} ${name}; fi
`
    .replaceAll("local path=", "local place=")
    .replaceAll("$path", "$place")
    .replaceAll('path="$place', 'place="$place');
}

function fish(program: DescribedCommand): string {
  const [name = ""] = program.path;
  const lines = everyCommand(program).flatMap((command) => {
    const condition = `__${name}_at ${quoted(command.path.join(" "))}`;
    return following(command, program).map(({ word, about }) => {
      return `complete -c ${name} -n ${quoted(condition.replaceAll("'", '"'))} -a ${quoted(word)} -d ${quoted(about)}`;
    });
  });
  return `# fish completion of ${name}: ${name} completion fish > ~/.config/fish/completions/${name}.fish
function __${name}_at
  set -l place ${name}
  for word in (commandline -opc)[2..]
    switch "$place $word"
      case ${groupsOf(program).join(" ")}
        set place "$place $word"
    end
  end
  test "$place" = "$argv[1]"
end
${lines.join("\n")}
`;
}

/** Quotes a text for all three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}
