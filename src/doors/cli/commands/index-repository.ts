/** `aptove index`: reads a repository into the index that retrieval searches (Q1, Q2). */
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, indexThereFix, UsageError, type ExitCode } from "../failure.ts";
import { findWorkingCopy } from "../../../working-copy/git.ts";
import { orgIdOf } from "../lookup/find-people.ts";
import { listenForStop } from "../stop-signals.ts";
import { indexWorkingCopy, summaryLines } from "../indexing/index-working-copy.ts";

export interface IndexOptions {
  repo?: string;
  rebuild?: boolean;
  /** The commit to index. True means HEAD. */
  commit?: string | true;
  org?: string;
}

export async function indexCommand(
  invocation: CliInvocation,
  path: string | undefined,
  options: IndexOptions,
): Promise<ExitCode> {
  if (invocation.server() !== null)
    throw new UsageError("the index of a server is built on its own machine", indexThereFix);
  const copy =
    path === undefined ? await invocation.copy() : await findWorkingCopy(existingFolder(invocation.io.cwd, path));
  // A shared index is not built from the uncommitted work of one person.
  if (options.commit === undefined && invocation.loaded().configuration.retrieval.store !== "local") {
    throw new UsageError("the index is shared, so it is built from a commit", "aptove index --commit");
  }
  const org = options.org === undefined ? {} : { org: await orgIdOf(invocation, options.org) };
  const named = options.repo === undefined ? copy : { ...copy, repo: options.repo };
  const stopping = listenForStop(invocation.io.signals);
  try {
    const summary = await indexWorkingCopy(invocation, named, { ...options, ...org, signal: stopping.first });
    if (invocation.json) invocation.output.json(summary);
    else for (const line of summaryLines(summary)) invocation.output.line(invocation.output.safe(line));
    return exitCodes.fine;
  } catch (error) {
    if (!stopping.first.aborted) throw error;
    invocation.output.note("stopped; the old index is unchanged");
    return exitCodes.interrupted;
  } finally {
    stopping.release();
  }
}

function existingFolder(cwd: string, path: string): string {
  const full = resolve(cwd, path);
  if (statSync(full, { throwIfNoEntry: false })?.isDirectory() === true) return realpathSync(full);
  throw new UsageError(`${path} is not a folder`, "name the folder of a repository, or leave it out");
}
