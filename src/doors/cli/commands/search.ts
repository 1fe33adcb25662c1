/** `aptove search`: sessions that contain all of the words (S8). */
import type { WireSearchHits } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { localTime } from "../show/explain.ts";
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { shortId } from "../lookup/find-by-id.ts";
import type { CliOutput } from "../output.ts";

const searchFix = "give one: aptove search <words…>";

export async function search(
  invocation: CliInvocation,
  words: string[],
  options: { limit: number },
): Promise<ExitCode> {
  if (words.every((word) => word.trim() === "")) throw new UsageError("there is no word to search for", searchFix);
  const hits = await (await invocation.client()).search(words.join(" "), { limit: options.limit });
  const { output } = invocation;
  if (invocation.json) output.json({ hits });
  else if (hits.length === 0) output.note("no session contains all of these words");
  else for (const hit of hits) for (const line of hitLines(hit, words, output)) output.line(line);
  return exitCodes.fine;
}

function hitLines({ session, matches }: WireSearchHits["hits"][number], words: string[], output: CliOutput): string[] {
  const { bold, yellow, dim } = output.style;
  const head = `${yellow(shortId(session.id))} ${bold(output.safe(session.name))}`;
  const lines = matches.map(({ where, turnId, excerpt }) => {
    const turn = turnId === null ? "" : ` of ${shortId(turnId)}`;
    return `  ${dim(`${where}${turn}:`)} ${marked(output.safe(excerpt), words, output)}`;
  });
  return [`${head} ${dim(localTime(session.activeAt).slice(0, 16))}`, ...lines];
}

/** Shows the words in red where they were found. */
function marked(text: string, words: string[], output: CliOutput): string {
  const parts = words.flatMap((each) => each.split(/\s+/)).filter((each) => each !== "");
  const pattern = parts.toSorted((a, b) => b.length - a.length).map((part) => RegExp.escape(part));
  return text.replace(new RegExp(pattern.join("|"), "giu"), (found) => output.style.red(found));
}
