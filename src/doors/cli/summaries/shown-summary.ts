/** A summary of a session, as people read it (M5). */
import type { WireSummary } from "../../../client/client.ts";
import { partTitles, summaryParts } from "../../../domain/summary.ts";
import { shortId } from "../lookup/find-by-id.ts";
import type { CliOutput } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { totalWords } from "../show/usage-words.ts";

export function shownSummary(summary: WireSummary, output: CliOutput): string[] {
  const { dim, yellow } = output.style;
  const head = `Summary of ${plural(summary.turnCount, "turn")}, by ${summary.provider}/${output.safe(summary.model)}`;
  const costs = summary.usage === null ? [] : totalWords(summary.usage);
  return [
    dim([head, ...costs].join(" · ")),
    ...(summary.note === null ? [] : [yellow(summary.note)]),
    ...summaryParts.flatMap((part) => partLines(summary, part, output)),
    ...rejectedLines(summary, output),
  ];
}

function partLines({ lines }: WireSummary, part: (typeof summaryParts)[number], output: CliOutput): string[] {
  const { bold, dim } = output.style;
  const own = lines.filter((line) => line.part === part);
  if (own.length === 0) return [];
  const shown = own.map(({ text, sources }) => {
    const turns = [
      ...new Set(sources.map(({ turnId, sequence }) => (sequence === null ? shortId(turnId) : `${sequence}`))),
    ];
    return `  - ${output.safe(text)} ${dim(`(turn ${turns.join(", ")})`)}`;
  });
  return ["", bold(partTitles[part]), ...shown];
}

function rejectedLines({ rejected }: WireSummary, output: CliOutput): string[] {
  if (rejected.length === 0) return [];
  const { dim } = output.style;
  const lines = rejected.map(({ what, text, reason }) => {
    const words = what === "line" ? "left out" : "a source left out";
    return dim(`  - ${words}: ${output.safe(text)}: ${reason}`);
  });
  return ["", dim("The model also wrote this, which does not count:"), ...lines];
}
