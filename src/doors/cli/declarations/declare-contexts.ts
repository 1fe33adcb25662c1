/** Declares the commands under `aptove context` (G1). */
import { Argument, type Command, Option } from "commander";
import type { ContextKind } from "../../../domain/context.ts";
import type { SetOptions } from "../commands/contexts.ts";
import { wholeNumber, type RunCommand } from "./declaring.ts";

export function addContextCommands(context: Command, run: RunCommand): void {
  const commands = () => import("../commands/contexts.ts");
  const named = (name: string, description: string): Command =>
    context
      .command(name)
      .description(description)
      .addArgument(new Argument("<kind>", "which of the two").choices(["agent", "conversation"]))
      .argument("<id>", "its id, for example default");
  const version = () => new Option("--at <version>", "as it was in this version").argParser(wholeNumber(1, 1e9));
  const expect = () => new Option("--expect <n>", "only if this is its newest version").argParser(wholeNumber(1, 1e9));
  context
    .command("list")
    .description("the contexts that count: those of the configuration, and the org's records over them")
    .action(() => run(async (call) => (await commands()).listContexts(call)));
  named("show", "what a context says, as the lines of a TOML file")
    .addOption(version())
    .action((kind: ContextKind, id: string, options: { at?: number }) =>
      run(async (call) => (await commands()).showContext(call, { kind, id }, options)),
    );
  named("set", "make a new version of a context: from a file, or the one that counts with some keys changed")
    .option("-f, --file <path>", "a TOML file with all that it says, as `show` prints it; - reads standard input")
    .option("--name <name>", "the name that lists show")
    .option("--provider <name>", "of an agent: a provider of the configuration")
    .option("--model <model>", "of a conversation: the model to call")
    .option("--boot-prompt <text>", "of a conversation: the system message")
    .option("--history <how>", "of a conversation: chain or replay")
    .option("--retrieval <how>", "of a conversation: required, optional or off")
    .addOption(expect())
    .action((kind: ContextKind, id: string, options: SetOptions) =>
      run(async (call) => (await commands()).setContext(call, { kind, id }, options)),
    );
  named("history", "who edited a context, and when").action((kind: ContextKind, id: string) =>
    run(async (call) => (await commands()).contextHistory(call, { kind, id })),
  );
  named("delete", "retire the org's record of a context; its versions stay readable")
    .addOption(expect())
    .action((kind: ContextKind, id: string, options: { expect?: number }) =>
      run(async (call) => (await commands()).retireContext(call, { kind, id }, options)),
    );
}
