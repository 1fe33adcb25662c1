/**
 * `aptove apply`: writes the file bundle of a turn, or of a file, to the working copy (X7). It shows the changes and
 * asks. It writes all of them or none, and refuses files that have changed since the answer.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { CurrentFile } from "../../../domain/file-bundle.ts";
import { systemCode } from "../../../system/system-error.ts";
import type { CliInvocation } from "../invocation.ts";
import { confirm } from "../confirm.ts";
import { diffLines } from "../show/paint-patch.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { findTurnId } from "../lookup/find-by-id.ts";
import { plural } from "../../../system/grouped-number.ts";
import { parsedOrRefused, planProposal, readTurnProposal, type Proposal } from "../working-copy/proposal.ts";
import { repairWorkingCopy, writeChanges } from "../working-copy/write-changes.ts";

export interface ApplyOptions {
  dryRun?: boolean;
  yes?: boolean;
}

export async function apply(invocation: CliInvocation, from: string, options: ApplyOptions): Promise<ExitCode> {
  const { root } = await invocation.copy();
  const repaired = repairWorkingCopy(root);
  if (repaired !== null) {
    invocation.output.note(`an earlier apply was interrupted; ${plural(repaired.length, "file")} restored`);
  }
  const proposal = await readProposal(invocation, from);
  const planned = await planProposal(root, proposal);
  if ("fault" in planned) {
    throw new CommandFailed(
      "file_bundle_conflict",
      `nothing was written: ${planned.fault}`,
      "ask again for these files",
    );
  }
  const { changes } = planned;
  const { output } = invocation;
  if (proposal.others.length > 0) {
    output.note(
      `changes of ${output.safeNote(proposal.others.join(", "))} are written by the same command in its folder`,
    );
  }
  if (changes.length === 0) {
    report(invocation, "nothing to do: every file has the proposed content", { applied: [] });
    return exitCodes.fine;
  }
  if (!invocation.json)
    for (const change of changes) for (const line of await diffLines(change, output)) output.exactLine(line);
  const summary = changes.map(({ path, before, after }) => ({ path, change: kindOf(before, after) }));
  if (options.dryRun === true) {
    report(invocation, `${plural(changes.length, "file")} would change; nothing was written`, { wouldApply: summary });
    return exitCodes.fine;
  }
  if (options.yes !== true && !(await confirm(invocation, `write ${plural(changes.length, "file")}?`))) {
    report(invocation, "nothing was written", { applied: [] });
    return exitCodes.failed;
  }
  writeChanges(root, changes);
  report(invocation, `${plural(changes.length, "file")} written`, { applied: summary });
  return exitCodes.fine;
}

function report(invocation: CliInvocation, text: string, value: unknown): void {
  if (invocation.json) invocation.output.json(value);
  else invocation.output.line(text);
}

function kindOf(before: CurrentFile | null, after: string | null): "created" | "changed" | "deleted" {
  if (before === null) return "created";
  return after === null ? "deleted" : "changed";
}

async function readProposal(invocation: CliInvocation, from: string): Promise<Proposal & { others: string[] }> {
  if (from.endsWith(".json")) return { ...readProposalFile(resolve(invocation.io.cwd, from)), others: [] };
  const client = await invocation.client();
  const { repo } = await invocation.copy();
  return await readTurnProposal(client, await findTurnId(client, from, repo), repo);
}

function readProposalFile(file: string): Proposal {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${systemCode(error)})`, "name a file with a file bundle, or a turn");
  }
  return { bundle: parsedOrRefused(text), baseOf: () => null, madeAt: null };
}
