/**
 * `aptove apply`: writes the file bundle of a turn, or of a file, to the working copy (X7). It shows the changes and
 * asks. It writes all of them or none, and refuses files that have changed since the answer.
 */
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { AptoveClient } from "../../../client/client.ts";
import {
  parseBundleJson,
  planBundle,
  type BundleConflict,
  type CurrentFile,
  type FileBundle,
  type PlannedChange,
} from "../../../domain/file-bundle.ts";
import { sha256 } from "../../../domain/ids.ts";
import { systemCode } from "../../../system/system-error.ts";
import type { CliInvocation } from "../invocation.ts";
import { confirm } from "../confirm.ts";
import { diffLines } from "../show/paint-patch.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { findTurnId } from "../lookup/find-by-id.ts";
import { plural } from "../output.ts";
import { repairWorkingCopy, writeChanges } from "../working-copy/write-changes.ts";

export interface ApplyOptions {
  dryRun?: boolean;
  yes?: boolean;
}

/** A bundle with the facts about the files that it was made for. */
interface Proposal {
  bundle: FileBundle;
  baseOf: (path: string) => string | null;
  /** A file that was written after this time has changed. Null: the time is not known. */
  madeAt: number | null;
}

export async function apply(call: CliInvocation, from: string, options: ApplyOptions): Promise<ExitCode> {
  const { root } = await call.copy();
  const repaired = repairWorkingCopy(root);
  if (repaired !== null) {
    call.output.note(`an earlier apply was interrupted; ${plural(repaired.length, "file")} restored`);
  }
  const proposal = await readProposal(call, from);
  const changes = planOrRefuse(root, proposal);
  const { output } = call;
  if (changes.length === 0) {
    report(call, "nothing to do: every file has the proposed content", { applied: [] });
    return exitCodes.fine;
  }
  if (!call.json) for (const change of changes) for (const line of await diffLines(change, output)) output.line(line);
  const summary = changes.map(({ path, before, after }) => ({ path, change: kindOf(before, after) }));
  if (options.dryRun === true) {
    report(call, `${plural(changes.length, "file")} would change; nothing was written`, { wouldApply: summary });
    return exitCodes.fine;
  }
  if (options.yes !== true && !(await confirm(call, `write ${plural(changes.length, "file")}?`))) {
    report(call, "nothing was written", { applied: [] });
    return exitCodes.failed;
  }
  writeChanges(root, changes);
  report(call, `${plural(changes.length, "file")} written`, { applied: summary });
  return exitCodes.fine;
}

function report(call: CliInvocation, text: string, value: unknown): void {
  if (call.json) call.output.json(value);
  else call.output.line(text);
}

function kindOf(before: CurrentFile | null, after: string | null): "created" | "changed" | "deleted" {
  if (before === null) return "created";
  return after === null ? "deleted" : "changed";
}

async function readProposal(call: CliInvocation, from: string): Promise<Proposal> {
  if (from.endsWith(".json")) return readProposalFile(resolve(call.io.cwd, from));
  const client = await call.client();
  const { repo } = await call.copy();
  return await readTurnProposal(client, await findTurnId(client, from, repo));
}

function readProposalFile(file: string): Proposal {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${systemCode(error)})`);
  }
  return { bundle: parsedOrRefused(text), baseOf: () => null, madeAt: null };
}

function parsedOrRefused(text: string): FileBundle {
  const parsed = parseBundleJson(text);
  if ("bundle" in parsed) return parsed.bundle;
  throw new CommandFailed("file_bundle_invalid", `the file bundle is not valid: ${parsed.fault}`);
}

async function readTurnProposal(client: AptoveClient, turnId: string): Promise<Proposal> {
  const [turn, answer] = await Promise.all([client.turns.get(turnId), client.turns.answer(turnId)]);
  if (answer.fileBundle === null) {
    const fault = turn.warnings.find((warning) => warning.code === "file_bundle_invalid");
    const why = fault === undefined ? "proposes no changes" : `proposes changes that are not valid: ${fault.message}`;
    throw new CommandFailed("file_bundle_invalid", `the turn ${why}`, 'ask for changes: aptove ask --mode edit "…"');
  }
  // The paths came over the network and are about to be written, so they are checked again.
  const bundle = parsedOrRefused(JSON.stringify(answer.fileBundle));
  const given = new Map(turn.manifest.activeFiles.map((file) => [file.path, file.contentHash]));
  return { bundle, baseOf: (path) => given.get(path) ?? null, madeAt: Date.parse(turn.createdAt) };
}

function planOrRefuse(root: string, proposal: Proposal): PlannedChange[] {
  const conflicts: BundleConflict[] = [];
  const targets = new Map<string, string>();
  const written = new Map<string, number>();
  const read = (path: string): CurrentFile | null => {
    const found = readTarget(root, path);
    if ("reason" in found) {
      conflicts.push({ path, reason: found.reason });
      return null;
    }
    const twin = targets.get(found.target);
    if (twin !== undefined) conflicts.push({ path, reason: `is the same file as ${twin}` });
    targets.set(found.target, path);
    written.set(path, found.modifiedAt);
    return found.file;
  };
  const planned = planBundle(proposal.bundle, { read, baseOf: proposal.baseOf });
  if ("conflicts" in planned) conflicts.push(...planned.conflicts);
  else conflicts.push(...writtenSince(planned.changes, proposal, written));
  if ("changes" in planned && conflicts.length === 0) return planned.changes;
  // A path that cannot be read is reported once, and not also as missing.
  const first = new Map(conflicts.toReversed().map(({ path, reason }) => [path, reason]));
  const detail = [...first].map(([path, reason]) => `${path} ${reason}`).join("; ");
  throw new CommandFailed("file_bundle_conflict", `nothing was written: ${detail}`, "ask again for these files");
}

/** The time of the file decides if a change has no hash of the version that it was made for. */
function writtenSince(changes: PlannedChange[], proposal: Proposal, written: Map<string, number>): BundleConflict[] {
  const { madeAt, bundle, baseOf } = proposal;
  if (madeAt === null) return [];
  const isLate = ({ path }: PlannedChange): boolean =>
    (written.get(path) ?? 0) > madeAt && baseOf(path) === null && !hasBase(bundle, path);
  return changes.filter(isLate).map(({ path }) => ({ path, reason: "was written after the answer was made" }));
}

function hasBase(bundle: FileBundle, path: string): boolean {
  const file = bundle.files.find((each) => path === (bundle.root === "." ? each.path : `${bundle.root}/${each.path}`));
  return file !== undefined && "baseSha256" in file;
}

type Target = { target: string; file: CurrentFile | null; modifiedAt: number } | { reason: string };

/** Returns the real path of a file. It must be inside the working copy, whatever links lead to it. */
function readTarget(root: string, path: string): Target {
  const top = realpathSync(root);
  const full = join(top, path);
  try {
    const target = join(realExisting(dirname(full)), full.slice(dirname(full).length + 1));
    const inside = relative(top, target);
    if (inside.startsWith("..") || inside.split(sep).some((part) => part.toLowerCase() === ".git")) {
      return { reason: "leads out of the working copy through a symbolic link" };
    }
    const stat = lstatSync(target, { throwIfNoEntry: false });
    if (stat === undefined) return { target, file: null, modifiedAt: 0 };
    if (stat.isSymbolicLink()) return { reason: "is a symbolic link" };
    if (!stat.isFile()) return { reason: "is not a file" };
    const content = readFileSync(target);
    return { target, file: { content, sha256: sha256(content) }, modifiedAt: stat.mtimeMs };
  } catch (error) {
    const code = systemCode(error);
    return { reason: code === "ENOTDIR" ? "is below a file" : `cannot be read (${code})` };
  }
}

/** Returns the real path of a folder. For a folder that does not exist yet: that of its nearest existing parent. */
function realExisting(folder: string): string {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat !== undefined) return realpathSync(folder);
  return join(realExisting(dirname(folder)), folder.slice(dirname(folder).length + 1));
}
