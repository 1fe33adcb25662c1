/**
 * The changes that an answer proposes, compared with the working copy (X7): the new contents of the files, or why they
 * cannot be written.
 */
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { AptoveClient, ExecuteAnswer } from "../../../client/client.ts";
import {
  parseBundleJson,
  planBundle,
  type BundleConflict,
  type CurrentFile,
  type FileBundle,
  type PlannedChange,
} from "../../../domain/file-bundle.ts";
import { sha256 } from "../../../domain/ids.ts";
import { joinPath, repositoryNames, splitPath, type PathNames } from "../../../domain/repositories.ts";
import { systemCode } from "../../../system/system-error.ts";
import { asCommittedAt } from "../../../working-copy/git.ts";
import { CommandFailed } from "../failure.ts";

/** A bundle with the facts about the files that it was made for. */
export interface Proposal {
  bundle: FileBundle;
  baseOf: (path: string) => string | null;
  /** A file that was written after this time has changed. Null: the time is not known. */
  madeAt: number | null;
}

export function parsedOrRefused(text: string): FileBundle {
  const parsed = parseBundleJson(text);
  if ("bundle" in parsed) return parsed.bundle;
  const fix = 'ask for the change again: aptove ask --mode edit "…"';
  throw new CommandFailed("file_bundle_invalid", `the file bundle is not valid: ${parsed.fault}`, fix);
}

/** Returns why the changes that an answer proposes are none. Null: they are valid, or there are none. */
export function proposalFault({ warnings }: ExecuteAnswer): string | null {
  return warnings.find(({ code }) => code === "file_bundle_invalid")?.message ?? null;
}

/**
 * Returns the changes that a turn proposes for a repository. Paths of a session about several name their repositories (M7); `others`
 * are those for which the turn proposes changes too, each written in its own folder.
 */
export async function readTurnProposal(
  client: AptoveClient,
  turnId: string,
  repo: string,
): Promise<Proposal & { others: string[] }> {
  const [turn, answer] = await Promise.all([client.turns.get(turnId), client.turns.answer(turnId)]);
  if (answer.fileBundle === null) {
    const fault = proposalFault(answer);
    const why = fault === null ? "proposes no changes" : `proposes changes that are not valid: ${fault}`;
    throw new CommandFailed("file_bundle_invalid", `the turn ${why}`, 'ask for changes: aptove ask --mode edit "…"');
  }
  // The paths came over the network and are about to be written, so they are checked again.
  const bundle = parsedOrRefused(JSON.stringify(answer.fileBundle));
  const given = new Map(turn.manifest.activeFiles.map((file) => [file.path, file.contentHash]));
  const madeAt = Date.parse(turn.createdAt);
  const session = await client.sessions.get(turn.sessionId);
  const names = { names: repositoryNames(session), home: session.repo };
  if (names.names.length === 0) return { bundle, baseOf: (path) => given.get(path) ?? null, madeAt, others: [] };
  const { own, others } = bundleOf(bundle, names, repo);
  if (own.length === 0) {
    const fix = "run the command in a folder of that repository";
    throw new CommandFailed("file_bundle_invalid", `the changes are for ${others.join(", ")}, not for ${repo}`, fix);
  }
  const checked = parsedOrRefused(JSON.stringify({ root: ".", files: own }));
  return { bundle: checked, baseOf: (path) => given.get(joinPath({ repo, path })) ?? null, madeAt, others };
}

/** Returns the changes for one repository, with paths in it, and the names of the other ones. */
function bundleOf(
  { root, files }: FileBundle,
  names: PathNames,
  repo: string,
): { own: FileBundle["files"]; others: string[] } {
  const placed = files.map((file) => ({
    file,
    ...splitPath(names, root === "." ? file.path : `${root}${root.endsWith(":") ? "" : "/"}${file.path}`),
  }));
  return {
    own: placed.filter((each) => each.repo === repo).map(({ file, path }) => ({ ...file, path })),
    others: [...new Set(placed.flatMap((each) => (each.repo === repo || each.repo === null ? [] : [each.repo])))],
  };
}

/** Returns the changes, or why nothing may be written. */
export async function planProposal(
  root: string,
  proposal: Proposal,
): Promise<{ changes: PlannedChange[] } | { fault: string }> {
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
  else conflicts.push(...(await changedSince(root, proposal, { changes: planned.changes, written })));
  if ("changes" in planned && conflicts.length === 0) return planned;
  // A path that cannot be read is reported once, and not also as missing.
  const first = new Map(conflicts.toReversed().map(({ path, reason }) => [path, reason]));
  return { fault: [...first].map(([path, reason]) => `${path} ${reason}`).join("; ") };
}

/**
 * A file of which the model did not get a version has no hash to compare. If it was written later, it must have the content that
 * git had for it when the answer was made: then it was put back.
 */
async function changedSince(
  root: string,
  { madeAt, bundle, baseOf }: Proposal,
  { changes, written }: { changes: PlannedChange[]; written: Map<string, number> },
): Promise<BundleConflict[]> {
  if (madeAt === null) return [];
  const late = changes
    .map(({ path }) => path)
    .filter((path) => (written.get(path) ?? 0) > madeAt && baseOf(path) === null && !hasBase(bundle, path));
  const same = late.length === 0 ? new Set() : await asCommittedAt(root, late, madeAt);
  const reason = "was written after the answer was made, and git does not have this content for it as of then";
  return late.filter((path) => !same.has(path)).map((path) => ({ path, reason }));
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
