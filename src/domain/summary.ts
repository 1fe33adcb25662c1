/**
 * A summary of a session (M5): what one branch of its conversation was about, line by line. A model writes it. Each line
 * names the turns that it rests on, with words of these turns, and only what these turns say is kept. A summary is a record
 * of its own: the turns stay as they are, and no model receives it unless a history must be shortened (C4).
 */
import type { Failure } from "./errors.ts";
import type { Millis } from "./ids.ts";
import type { Step } from "./step.ts";
import type { Usage } from "./usage.ts";

/** The kinds of lines, in the order in which they are shown. */
export const summaryParts = ["goal", "decision", "file", "open_point"] as const;
export type SummaryPart = (typeof summaryParts)[number];

/** The name of the form in which a model answers, by which the offline model knows that a summary is wanted. */
export const summaryFormat = "aptove_summary";

/** What a reader must know about a summary before anything else. Null: nothing. */
export function summaryNote({ provider }: Pick<Summary, "provider">): string | null {
  if (provider !== "offline") return null;
  return "made by aptove's built-in offline model: it does not think, it only quotes instructions and paths";
}

/** A turn that a line rests on, and words that stand in it. */
export interface LineSource {
  turnId: string;
  quote: string;
}

export interface SummaryLine {
  part: SummaryPart;
  text: string;
  /** The turns that the line rests on, at least one. */
  sources: LineSource[];
}

/** What the model wrote and what does not count: a whole line, or one of the sources of a line that is kept. */
export interface RejectedLine {
  what: "line" | "source";
  text: string;
  /** Why, as words that follow a colon. */
  reason: string;
}

/** One call of the model. Its request and its response can be read back byte for byte (D3). */
export interface SummaryCall extends Pick<Step, "index" | "provider" | "model" | "startedAt" | "request"> {
  /** Null as long as the call runs, and if its process was lost. */
  end: SummaryCallEnd | null;
}

export interface SummaryCallEnd extends Pick<Step, "endedAt" | "outcome" | "usage"> {
  /** The blob with the exact bytes of the response. Null if none arrived. */
  response: string | null;
}

/** The branch that a summary stands for: everything from its first turn through a turn. */
export interface SummaryRange {
  fromTurnId: string;
  throughTurnId: string;
  /** The depth of the last turn, which is the number of turns. */
  throughDepth: number;
}

export type SummaryCause = "request" | "archived";

export interface Summary extends SummaryRange {
  id: string;
  orgId: string;
  sessionId: string;
  /** The user who made it, or who archived the session. */
  userId: string;
  cause: SummaryCause;
  /** The earlier summary that this one began with. Null: it began with the first turn. */
  basedOn: string | null;
  provider: string;
  model: string;
  createdAt: Millis;
  calls: SummaryCall[];
  /** Null as long as it is being made. */
  end: SummaryEnd | null;
}

export type SummaryEnd = {
  at: Millis;
  /** The sum of all calls. */
  usage: Usage;
  rejected: RejectedLine[];
} & ({ status: "completed"; lines: SummaryLine[] } | { status: "failed"; failure: Failure });

export type EndedSummary = Summary & { end: SummaryEnd };
export type CompletedSummary = Summary & { end: Extract<SummaryEnd, { status: "completed" }> };

export function isCompleted(summary: Summary): summary is CompletedSummary {
  return summary.end?.status === "completed";
}

/** The lines of a completed summary by their parts, in the order in which they are shown. */
export function linesByPart(lines: readonly SummaryLine[]): { part: SummaryPart; lines: SummaryLine[] }[] {
  const groups = summaryParts.map((part) => ({ part, lines: lines.filter((line) => line.part === part) }));
  return groups.filter((group) => group.lines.length > 0);
}

/** The name of each part, for people. */
export const partTitles: Record<SummaryPart, string> = {
  goal: "Goal",
  decision: "Decisions",
  file: "Files",
  open_point: "Open points",
};

/** Returns the texts of all lines as one text, in which search finds words. */
export function summaryText(lines: readonly SummaryLine[]): string {
  return lines.map(({ text }) => text).join("\n");
}

/** Returns the keys of all blobs that a summary names. */
export function summaryBlobs({ calls }: Pick<Summary, "calls">): string[] {
  return calls.flatMap(({ request, end }) => [request.blob, ...(end?.response == null ? [] : [end.response])]);
}
