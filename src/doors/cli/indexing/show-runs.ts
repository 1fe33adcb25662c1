/** `aptove index --status`: what is being indexed, by whichever process, and how the last runs ended (Q2). */
import type { WireIndexRun } from "../../../client/client.ts";
import { groupedNumber, plural } from "../../../system/grouped-number.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import { duration } from "../output.ts";
import { localTime } from "../show/explain.ts";

export async function showIndexRuns(invocation: CliInvocation): Promise<ExitCode> {
  const { output } = invocation;
  const runs = await (await invocation.client()).indexRuns.list();
  if (invocation.json) {
    output.json({ runs });
    return exitCodes.fine;
  }
  if (runs.length === 0) output.note("no run is known");
  for (const run of runs) for (const line of linesOf(run)) output.line(output.safe(line));
  return exitCodes.fine;
}

function linesOf({ repo, running, done, failed }: WireIndexRun): string[] {
  const lines: string[] = [];
  if (running !== null) {
    const { phase, filesDone, filesTotal, chunksWritten, pid } = running;
    const files = `${groupedNumber(filesDone)} of ${plural(filesTotal, "file")}`;
    lines.push(`${repo}: ${phase}, ${files}, ${plural(chunksWritten, "chunk")} written (process ${pid})`);
  }
  if (done !== null) {
    const { endedAt, filesTotal, chunksTotal, durationMs } = done;
    const size = `${plural(filesTotal, "file")}, ${plural(chunksTotal, "chunk")}`;
    lines.push(`${repo}: indexed ${localTime(endedAt)} in ${duration(durationMs)}, ${size}`);
    for (const { reason, count } of done.skipped)
      lines.push(`${repo}: skipped, ${reason.replaceAll("_", " ")}: ${plural(count, "file")}`);
  }
  if (failed !== null) lines.push(`${repo}: failed ${localTime(failed.endedAt)}: ${failed.message} (${failed.code})`);
  return lines;
}
