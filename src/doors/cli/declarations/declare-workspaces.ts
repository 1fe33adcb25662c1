/** Declares the commands about workspaces, with their options and their help (L1, W6). */
import { Option, type Command } from "commander";
import type { ConfirmOptions } from "../confirm.ts";
import type { WorkspaceGcOptions } from "../commands/workspaces.ts";
import { wholeNumber, type RunCommand } from "./declaring.ts";

const theWorkspace = "the workspace (an id, a part of one, or `default`)";

export function addWorkspaceCommands(workspace: Command, run: RunCommand): void {
  const commands = () => import("../commands/workspaces.ts");
  workspace
    .command("list")
    .description("workspaces, the one that was used last first")
    .action(() => run(async (call) => (await commands()).listWorkspaces(call)));
  workspace
    .command("create")
    .description("make a workspace and print its id")
    .option("--name <name>", "what lists call it")
    .action((options: { name?: string }) => run(async (call) => (await commands()).createWorkspace(call, options)));
  workspace
    .command("show")
    .description("what is known of a workspace, its devices, and where it lies")
    .argument("<id>", theWorkspace)
    .action((id: string) => run(async (call) => (await commands()).showWorkspace(call, id)));
  workspace
    .command("permissions")
    .description("what the tools may do there without asking")
    .argument("<id>", theWorkspace)
    .option("--forget <key>", "ask again before this")
    .action((id: string, options: { forget?: string }) =>
      run(async (call) => (await commands()).workspacePermissions(call, id, options)),
    );
  workspace
    .command("delete")
    .description("delete a workspace for ever: its devices are unbound, its transcripts and settings go")
    .argument("<id>", theWorkspace)
    .option("-y, --yes", "do not ask")
    .action((id: string, options: ConfirmOptions) =>
      run(async (call) => (await commands()).deleteWorkspace(call, id, options)),
    );
  workspace
    .command("gc")
    .description("delete workspaces that nobody has used for long")
    .addOption(new Option("--max-age <days>", "since their last use").argParser(wholeNumber(1, 36_500)).default(90))
    .option("--dry-run", "list them and delete nothing")
    .option("-y, --yes", "do not ask")
    .action((options: WorkspaceGcOptions) => run(async (call) => (await commands()).collectWorkspaces(call, options)));
}
