/** Declares the commands about workspaces and skills, with their options and their help (L1, W6). */
import { Option, type Command } from "commander";
import type { CreateWorkspaceOptions, DeleteWorkspaceOptions, WorkspaceGcOptions } from "../commands/workspaces.ts";
import type { SkillOptions } from "../working-copy/skills.ts";
import { createsFolder, wholeNumber, type RunCommand } from "./declaring.ts";

const theWorkspace = "the workspace (an id, a part of one, or `default`)";

export function addWorkspaceCommands(workspace: Command, run: RunCommand): void {
  const commands = () => import("../commands/workspaces.ts");
  workspace
    .command("list")
    .description("list workspaces, most recently used first")
    .action(() => run(async (call) => (await commands()).listWorkspaces(call)));
  workspace
    .command("create")
    .description("create a workspace and print its id")
    .option("--name <name>", "the name in lists")
    .option("--provider <name>", "the provider that answers there")
    .option("--model <model>", "the model to use there")
    .option("--device <id>", "bind the device with this id to it")
    .action((options: CreateWorkspaceOptions) =>
      run(async (call) => (await commands()).createWorkspace(call, options), createsFolder),
    );
  workspace
    .command("show")
    .description("show a workspace, its devices, and its folder")
    .argument("<id>", theWorkspace)
    .action((id: string) => run(async (call) => (await commands()).showWorkspace(call, id)));
  workspace
    .command("permissions")
    .description("list what the tools may do there without asking")
    .argument("<id>", theWorkspace)
    .option("--forget <key>", "remove this permission")
    .action((id: string, options: { forget?: string }) =>
      run(async (call) => (await commands()).workspacePermissions(call, id, options)),
    );
  workspace
    .command("delete")
    .description("delete a workspace permanently, with its transcripts and settings; its devices are unbound")
    .argument("<id>", theWorkspace)
    .option("--purge", "delete its sessions permanently too")
    .option("-y, --yes", "do not ask")
    .action((id: string, options: DeleteWorkspaceOptions) =>
      run(async (call) => (await commands()).deleteWorkspace(call, id, options)),
    );
  workspace
    .command("gc")
    .description("delete workspaces that were not used for a long time")
    .addOption(
      new Option("--max-age <days>", "days since their last use").argParser(wholeNumber(1, 36_500)).default(90),
    )
    .option("--dry-run", "list them and delete nothing")
    .option("-y, --yes", "do not ask")
    .action((options: WorkspaceGcOptions) => run(async (call) => (await commands()).collectWorkspaces(call, options)));
}

export function addSkillCommands(skill: Command, run: RunCommand): void {
  const commands = () => import("../working-copy/skills.ts");
  const workspaceOption = [
    "-w, --workspace <id>",
    "the workspace whose skills count (an id, a part of one, or `default`)",
  ] as const;
  skill
    .command("list")
    .description("list the skills that sessions in this folder have, and what is wrong with the others")
    .option(...workspaceOption)
    .action((options: SkillOptions) => run(async (call) => (await commands()).listSkills(call, options)));
  skill
    .command("show")
    .description("print the SKILL.md of a skill")
    .argument("<name>", "its name")
    .option(...workspaceOption)
    .action((name: string, options: SkillOptions) =>
      run(async (call) => (await commands()).showSkill(call, name, options)),
    );
}
