/** Declares the commands under `aptove context` and `aptove model` (G1, G3). */
import { Argument, type Command, Option } from "commander";
import type { ContextKind } from "../../../domain/context.ts";
import type { SetOptions } from "../commands/contexts.ts";
import type { ModelListOptions } from "../models/list-models.ts";
import { createsFolder, wholeNumber, type RunCommand } from "./declaring.ts";

export function addContextCommands(context: Command, run: RunCommand): void {
  const commands = () => import("../commands/contexts.ts");
  const named = (name: string, description: string): Command =>
    context
      .command(name)
      .description(description)
      .addArgument(new Argument("<kind>", "the kind of context").choices(["agent", "conversation"]))
      .argument("<id>", "the id of the context, for example default");
  const version = () => new Option("--at <version>", "show this version").argParser(wholeNumber(1, 1e9));
  const expect = () =>
    new Option("--expect <n>", "write only if this is the newest version").argParser(wholeNumber(1, 1e9));
  context
    .command("list")
    .description("list the contexts in use: those of the configuration, and the org's records that replace them")
    .action(() => run(async (call) => (await commands()).listContexts(call), createsFolder));
  named("show", "print a context as a TOML file")
    .addOption(version())
    .action((kind: ContextKind, id: string, options: { at?: number }) =>
      run(async (call) => (await commands()).showContext(call, { kind, id }, options), createsFolder),
    );
  named("set", "write a new version of a context: from a file, or with some keys changed")
    .option("-f, --file <path>", "a TOML file with the whole context, as `show` prints it; - reads standard input")
    .option("--name <name>", "the name in lists")
    .option("--provider <name>", "for an agent: a provider of the configuration")
    .option("--model <model>", "for a conversation: the model to use")
    .option("--boot-prompt <text>", "for a conversation: the system message")
    .option("--history <how>", "for a conversation: chain or replay")
    .option("--retrieval <how>", "for a conversation: required, optional or off")
    .addOption(expect())
    .action((kind: ContextKind, id: string, options: SetOptions) =>
      run(async (call) => (await commands()).setContext(call, { kind, id }, options), createsFolder),
    );
  named("history", "list who edited a context, and when").action((kind: ContextKind, id: string) =>
    run(async (call) => (await commands()).contextHistory(call, { kind, id })),
  );
  named("delete", "retire the org's record of a context; its versions can still be read")
    .addOption(expect())
    .action((kind: ContextKind, id: string, options: { expect?: number }) =>
      run(async (call) => (await commands()).retireContext(call, { kind, id }, options)),
    );
}

export function addModelCommands(model: Command, run: RunCommand): void {
  model
    .command("list")
    .description("list the models that the providers offer, with their windows and prices")
    .option("--provider <name>", "only those of this provider")
    .option("--workspace <id>", "those that a workspace offers")
    .action((options: ModelListOptions) =>
      run(async (call) => (await import("../models/list-models.ts")).listOfferedModels(call, options), createsFolder),
    );
}
