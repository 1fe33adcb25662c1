/** The repositories that a session is about beside that of the current folder (M7). */
import { resolve } from "node:path";
import { findWorkingCopy, type LocalWorkingCopy } from "../../../working-copy/git.ts";
import type { CliInvocation } from "../invocation.ts";
import { UsageError } from "../failure.ts";
import type { TurnOptions } from "../turn/turn-options.ts";

/** Returns the working copies of the folders that were named, in order. Throws a UsageError for a folder without a repository. */
export async function addedCopies({ io }: CliInvocation, { addDir = [] }: TurnOptions): Promise<LocalWorkingCopy[]> {
  return await Promise.all(
    addDir.map(async (folder) => {
      const copy = await findWorkingCopy(resolve(io.cwd, folder)).catch(() => null);
      if (copy?.hasGit === true) return copy;
      const why = copy?.refusal ?? "it is in no git repository, or does not exist";
      throw new UsageError(`--add-dir ${folder}: ${why}`, "name a folder of a git repository");
    }),
  );
}

/** Splits named files by the working copy that they are in. Those that are in none of the added ones are the first copy's. */
export function filesOfCopies(
  cwd: string,
  named: readonly string[],
  added: readonly LocalWorkingCopy[],
): { own: string[]; added: string[][] } {
  const homeOf = (name: string): LocalWorkingCopy | undefined => {
    const path = resolve(cwd, name);
    return added.find(({ root }) => path.startsWith(`${root}/`));
  };
  return {
    own: named.filter((name) => homeOf(name) === undefined),
    added: added.map((copy) => named.filter((name) => homeOf(name) === copy)),
  };
}
