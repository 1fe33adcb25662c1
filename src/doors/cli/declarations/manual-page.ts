/** The manual page of the program in the form of man(7), made from the declarations of the commands (L1). */
import { everyCommand, type DescribedCommand, type DescribedOption } from "./described-commands.ts";

export function manualPage(program: DescribedCommand, version: string): string {
  const [name = ""] = program.path;
  const [, ...commands] = everyCommand(program);
  const runnable = commands.filter((command) => command.commands.length === 0);
  return [
    `.TH ${name.toUpperCase()} 1 "" "${name} ${version}"`,
    ".SH NAME",
    `${name} \\- ${text(program.about.replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    `.B ${name}`,
    "[options] <command> [arguments]",
    ".SH OPTIONS",
    ...program.options.flatMap(optionLines),
    ".SH COMMANDS",
    ...runnable.flatMap(commandLines),
    ".SH EXIT STATUS",
    "0 success, 1 failed, 2 wrong use, 130 interrupted.",
    ".SH FILES",
    "The data folder is ~/.local/share/Aptove, or the folder that APTOVE_DATA_DIR names.",
    "",
  ].join("\n");
}

function commandLines({ path, usage, about, options }: DescribedCommand): string[] {
  return [".SS", text([...path, usage].join(" ").trim()), `${text(about)}.`, ...options.flatMap(optionLines)];
}

function optionLines({ flags, about, choices }: DescribedOption): string[] {
  const known = choices.length === 0 ? "" : ` (${choices.join(", ")})`;
  return [".TP", `.B ${text(flags)}`, text(`${about}${known}`)];
}

/** Escapes what roff reads as its own: backslashes, hyphens of options, and a full stop or an apostrophe at the start. */
function text(words: string): string {
  const escaped = words.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
