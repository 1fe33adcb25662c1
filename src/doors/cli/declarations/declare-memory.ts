/** Declares the commands under `aptove memory` (M3). */
import type { Command } from "commander";
import type { ConfirmOptions } from "../confirm.ts";
import type { MemoryOptions } from "../memory/facts.ts";
import { createsFolder, type RunCommand } from "./declaring.ts";

const theFact = "the fact (its id, or the beginning of it)";
const theText = "the text of the fact; - reads standard input";

export function addMemoryCommands(memory: Command, run: RunCommand): void {
  const commands = () => import("../memory/facts.ts");
  const named = (name: string, description: string): Command =>
    memory
      .command(name)
      .description(description)
      .option("-w, --workspace <id>", "the workspace (an id, a part of one, or a name); default: default");
  named("list", "list the facts that sessions of the workspace are given").action((options: MemoryOptions) =>
    run(async (call) => (await commands()).listFacts(call, options)),
  );
  named("show", "print a fact, and where it came from")
    .argument("<fact>", theFact)
    .action((fact: string, options: MemoryOptions) =>
      run(async (call) => (await commands()).showFact(call, fact, options)),
    );
  named("add", "write down a fact, and print its id")
    .argument("<text...>", theText)
    .option("--turn <turn>", "the turn that it comes from")
    .action((words: string[], options: MemoryOptions & { turn?: string }) =>
      run(async (call) => (await commands()).addFact(call, words, options), createsFolder),
    );
  named("edit", "replace the text of a fact")
    .argument("<fact>", theFact)
    .argument("<text...>", theText)
    .action((fact: string, words: string[], options: MemoryOptions) =>
      run(async (call) => (await commands()).editFact(call, { fact, words }, options)),
    );
  named("forget", "remove a fact from the memory and from every later request, and name the turns that had it")
    .argument("<fact>", theFact)
    .option("-y, --yes", "do not ask")
    .action((fact: string, options: MemoryOptions & ConfirmOptions) =>
      run(async (call) => (await commands()).forgetFact(call, fact, options)),
    );
}
