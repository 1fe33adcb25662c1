/**
 * `aptove backup DIR` and `aptove restore DIR`: a complete copy of the data folder, made while it is in use (B3). `aptove move-blobs PLACE`:
 * from files into the database, or back (B1).
 */
import { resolve } from "node:path";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, exitCodes, type ExitCode } from "../failure.ts";
import { bytes } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import type { BackupCounts } from "../ports.ts";
import { ProgressBar } from "../show/progress-bar.ts";

export async function backup(invocation: CliInvocation, dir: string): Promise<ExitCode> {
  refuseElsewhere(invocation);
  const report = await withProgress(invocation, "copying", (onBlob) =>
    invocation.backup({ copy: resolve(invocation.io.cwd, dir), onBlob }),
  );
  const what = report.damaged.length === 0 ? "is a complete copy" : "has all that can be read";
  return tell(invocation, report, `${invocation.output.safe(report.folder)} ${what}: ${contents(report)}`);
}

export async function restore(invocation: CliInvocation, dir: string): Promise<ExitCode> {
  refuseElsewhere(invocation);
  const report = await withProgress(invocation, "restoring", (onBlob) =>
    invocation.restore({ copy: resolve(invocation.io.cwd, dir), onBlob }),
  );
  const exit = tell(invocation, report, `${invocation.output.safe(report.folder)} has ${contents(report)}`);
  if (!invocation.json)
    invocation.output.note("check all sessions: aptove doctor --deep; make the index again: aptove index");
  return exit;
}

export async function moveBlobsTo(invocation: CliInvocation, to: "database" | "files"): Promise<ExitCode> {
  refuseToMove(invocation, to);
  const { output } = invocation;
  const bar = new ProgressBar(output);
  const report = await invocation
    .moveBlobs({ to, onBlob: (what, done, total) => bar.update(what, done, total) })
    .finally(() => bar.clear());
  if (invocation.json) {
    output.json(report);
    return exitCodes.fine;
  }
  const where = to === "database" ? "in the database" : "in files";
  if (!report.moved) output.line(`the contents of all conversations were ${where} already`);
  else output.line(`the contents of all conversations are ${where} now, and were compared: ${contents(report)}`);
  return exitCodes.fine;
}

function refuseToMove(invocation: CliInvocation, to: "database" | "files"): void {
  if (invocation.server() !== null) {
    throw new CommandFailed("move_refused", "this moves this machine's own data", "run it where the server runs");
  }
  const { records, blobs } = invocation.loaded().configuration;
  const isElsewhere =
    blobs.url === null ? records.url !== null && "the records are in PostgreSQL" : "the blobs are in S3";
  if (isElsewhere !== false) {
    throw new CommandFailed("move_refused", isElsewhere, "only a data folder with its records in SQLite can be moved");
  }
  if (blobs.store === null || blobs.store === to) return;
  throw new CommandFailed("move_refused", `blobs.store is "${blobs.store}"`, "remove the setting, then try again");
}

/** Only SQLite and files are copied here. PostgreSQL and S3 have tools of their own that do it better. */
function refuseElsewhere(invocation: CliInvocation): void {
  if (invocation.server() !== null) {
    throw new CommandFailed("backup_refused", "this copies this machine's own data", "run it where the server runs");
  }
  const { records, blobs } = invocation.loaded().configuration;
  if (blobs.url !== null) {
    const fix = "copy the rows first, then the bucket with its own tools: see docs/backup.md";
    throw new CommandFailed("backup_refused", "the blobs are in S3", fix);
  }
  if (records.url !== null) {
    const fix = "copy them with pg_dump, then the blobs: the order is in docs/backup.md";
    throw new CommandFailed("backup_refused", "the records are in PostgreSQL", fix);
  }
}

async function withProgress(
  invocation: CliInvocation,
  label: string,
  work: (onBlob: (done: number, total: number) => void) => Promise<BackupCounts>,
): Promise<BackupCounts> {
  const bar = new ProgressBar(invocation.output);
  try {
    return await work((done, total) => bar.update(label, done, total));
  } finally {
    bar.clear();
  }
}

function contents({ turns, blobs, bytes: size }: Pick<BackupCounts, "turns" | "blobs" | "bytes">): string {
  return `${plural(turns, "turn")}, ${plural(blobs, "blob")}, ${bytes(size)}`;
}

function tell(invocation: CliInvocation, report: BackupCounts, line: string): ExitCode {
  const { output } = invocation;
  const { damaged } = report;
  if (invocation.json) output.json(report);
  else output.line(line);
  if (damaged.length === 0) return exitCodes.fine;
  if (!invocation.json) {
    for (const { name, why } of damaged.slice(0, damagedShownMax))
      output.note(output.safeNote(`damaged: ${name} ${why}`));
    if (damaged.length > damagedShownMax)
      output.note(`and ${damaged.length - damagedShownMax} more; all of them: --json`);
    output.note(
      "fix: take these from an earlier backup (docs/backup.md); aptove doctor --deep names the turns that need them",
    );
  }
  return exitCodes.failed;
}

const damagedShownMax = 20;
