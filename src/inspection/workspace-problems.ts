/** Finds what is wrong in single workspaces of the data folder (W7). */
import type { Configuration } from "../configuration/configuration.ts";
import { AptoveError } from "../domain/errors.ts";
import { configurationProblems } from "./configuration-problems.ts";

export interface WorkspaceProblems {
  /** The number of workspaces. */
  count: number;
  problems: string[];
}

export interface InspectedWorkspaces {
  env: Readonly<Record<string, string | undefined>>;
  /** The configuration that all workspaces share. */
  shared: Configuration;
  list(): Promise<{ id: string; name: string | null; damage: string | null }[]>;
  /** Returns the configuration of a workspace. Throws the fault in the workspace's own file. */
  configurationOf(id: string): Promise<Configuration>;
}

/** Returns what is wrong in single workspaces. A problem that the whole data folder has is left out. */
export async function workspaceProblems(parts: InspectedWorkspaces): Promise<WorkspaceProblems> {
  const everywhere = configurationProblems(parts.shared, parts.env);
  const found = await parts.list();
  const problems: string[] = [];
  for (const { id, name, damage } of found.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const own = damage === null ? await ownProblems(parts, id) : [damage];
    const title = name === null ? id : `${id} (${name})`;
    problems.push(...own.filter((one) => !everywhere.includes(one)).map((one) => `workspace ${title}: ${one}`));
  }
  return { count: found.length, problems };
}

async function ownProblems({ configurationOf, env }: InspectedWorkspaces, id: string): Promise<string[]> {
  try {
    return configurationProblems(await configurationOf(id), env);
  } catch (error) {
    if (error instanceof AptoveError) return [error.detail];
    throw error;
  }
}
