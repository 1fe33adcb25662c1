/** `aptove config init | show | check` (W7). */
import { existsSync } from "node:fs";
import { starterConfig, effectiveValues } from "../../../configuration/config-text.ts";
import type { LoadedConfiguration } from "../../../configuration/configuration.ts";
import { writePrivateFile } from "../../../system/durable-files.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, exitCodes, type ExitCode } from "../failure.ts";
import { findWorkspace } from "../lookup/find-by-id.ts";
import { plural } from "../../../system/grouped-number.ts";
import { askProviders } from "../../../inspection/checks.ts";
import { answering, configurationProblems } from "../../../inspection/configuration-problems.ts";

export function initConfig(invocation: CliInvocation, options: { force?: boolean }): ExitCode {
  const file = invocation.folder().config;
  if (existsSync(file) && options.force !== true) {
    throw new CommandFailed("config_exists", `${file} exists already`, "edit it, or overwrite it with --force");
  }
  writePrivateFile(file, starterConfig());
  if (invocation.json) invocation.output.json({ file });
  else invocation.output.line(`wrote ${file}; every key in it is commented out`);
  return exitCodes.fine;
}

export interface ConfigOptions {
  /** The id of the workspace whose configuration is used. */
  workspace?: string;
}

export async function showConfig(invocation: CliInvocation, options: ConfigOptions): Promise<ExitCode> {
  const loaded = await loadedFor(invocation, options);
  const values = effectiveValues(loaded);
  const { output } = invocation;
  if (invocation.json) {
    output.json({ file: invocation.folder().config, workspace: options.workspace ?? null, values });
    return exitCodes.fine;
  }
  const shown = values.filter(({ value }) => value !== null);
  // Not in columns: keys and values are long, and a terminal would have no room for the sources.
  for (const { key, value, layer, source } of shown) {
    const where = layer === "built-in" ? layer : `${layer}  ${source}`;
    output.line(`${output.safe(`${key} = ${shorten(value ?? "")}`)}  ${output.style.dim(output.safe(where))}`);
  }
  return exitCodes.fine;
}

async function loadedFor(invocation: CliInvocation, { workspace }: ConfigOptions): Promise<LoadedConfiguration> {
  if (workspace === undefined) return invocation.loaded();
  const { id } = findWorkspace(await (await invocation.workspaces()).store.list(), workspace);
  const loaded = await invocation.loadedFor(id);
  for (const warning of loaded.warnings) invocation.output.note(`warning: ${warning}`);
  return loaded;
}

function shorten(value: string): string {
  return value.length <= 60 ? value : `${value.slice(0, 59)}…`;
}

/** Checks the configuration of a workspace, or of the data folder with all of its workspaces. */
export async function checkConfig(invocation: CliInvocation, options: ConfigOptions): Promise<ExitCode> {
  const { configuration, warnings } = await loadedFor(invocation, options);
  const problems = configurationProblems(configuration, invocation.io.env);
  const others = options.workspace === undefined ? await invocation.workspaceProblems() : { count: 0, problems: [] };
  problems.push(...others.problems);
  const answers = await askProviders(invocation.loaded().configuration, (name) => invocation.checkProvider(name));
  for (const { name, fault, fix } of answers) {
    if (fault !== null) problems.push(`the provider ${name} ${fault}${fix === null ? "" : `; ${fix}`}`);
  }
  const { output } = invocation;
  const file = invocation.folder().config;
  const hasFile = existsSync(file);
  if (invocation.json) {
    output.json({ file, hasFile, workspace: options.workspace ?? null, warnings, problems });
  } else {
    for (const problem of problems) output.note(`${output.noteStyle.red("problem:")} ${output.safeNote(problem)}`);
    const checked =
      options.workspace === undefined
        ? checkedText(file, hasFile, others.count)
        : `workspace ${options.workspace} checked, no fault`;
    if (problems.length === 0) output.line(`${checked}; ${answering(configuration)}`);
  }
  return problems.length === 0 ? exitCodes.fine : exitCodes.failed;
}

function checkedText(file: string, hasFile: boolean, count: number): string {
  const workspaces = plural(count, "workspace");
  if (hasFile) return `${file}${count === 0 ? "" : ` and ${workspaces}`} checked, no fault`;
  const built = `there is no ${file} (aptove config init writes one), so the built-in values and the environment apply`;
  return count === 0 ? built : `${built}; ${workspaces} checked, no fault`;
}
