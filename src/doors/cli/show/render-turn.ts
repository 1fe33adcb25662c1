/**
 * Shows a running turn on the terminal: the text of the answer goes to standard output as it streams, everything about
 * it (retrieval, tool calls, warnings, usage) to standard error.
 */
import { visibleText } from "../../../tools/shown-text.ts";
import type { AgUiEvent, AptoveCustomEvent, ExecuteAnswer } from "../../../client/client.ts";
import { ignoreUnknown } from "../../../system/guards.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { bytes, duration, firstLine, type CliOutput } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { waitingWords } from "../turn/waiting-call.ts";
import { subagentLine } from "./subagent-lines.ts";
import { totalWords } from "./usage-words.ts";

/** Shows one turn while it runs. */
export interface TurnView {
  event(event: AgUiEvent): void;
  /** Prints the summary under a finished turn. The caller prints a failure. */
  finish(answer: ExecuteAnswer): void;
  /** Ends the output after the last event, whatever the outcome of the turn. */
  endLine(): void;
}

export class TurnRenderer implements TurnView {
  readonly #output: CliOutput;
  readonly #startedAt = Date.now();
  readonly #callNames = new Map<string, string>();
  readonly #callArguments = new Map<string, string>();
  /** True if the last character of the answer was a line feed. No other text may be on its line. */
  #isAtLineStart = true;
  #messages = 0;

  constructor(output: CliOutput) {
    this.#output = output;
  }

  event(event: AgUiEvent): void {
    switch (event.type) {
      case "CUSTOM":
        this.#custom(event);
        break;
      case "TEXT_MESSAGE_START":
        if (this.#messages > 0) this.#text(this.#isAtLineStart ? "\n" : "\n\n");
        this.#messages += 1;
        break;
      case "TEXT_MESSAGE_CONTENT":
        this.#text(event.delta);
        break;
      case "TOOL_CALL_START":
        this.#callNames.set(event.toolCallId, event.toolCallName);
        break;
      case "TOOL_CALL_ARGS":
        this.#callArguments.set(event.toolCallId, (this.#callArguments.get(event.toolCallId) ?? "") + event.delta);
        break;
      case "TOOL_CALL_END":
        this.#toolCall(event.toolCallId);
        break;
      case "TOOL_CALL_RESULT":
        this.#note(`  ${foldedResult(event)}`);
        break;
      // Events that frame a run and its steps, and the model's reasoning, are not shown.
      case "RUN_STARTED":
      case "RUN_FINISHED":
      case "RUN_ERROR":
      case "STEP_STARTED":
      case "STEP_FINISHED":
      case "REASONING_MESSAGE_START":
      case "REASONING_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_END":
      case "TEXT_MESSAGE_END":
        break;
      default:
        ignoreUnknown(event);
    }
  }

  finish(answer: ExecuteAnswer): void {
    this.endLine();
    for (const call of answer.toolCalls) {
      // A person will decide about it, so nothing of it is hidden.
      this.#note(waitingWords(call, visibleText(call.arguments)));
    }
    this.#output.note(this.#output.noteStyle.dim(`— ${endOfTurn(answer, this.#startedAt)}`));
  }

  endLine(): void {
    if (!this.#isAtLineStart) this.#output.line();
    this.#isAtLineStart = true;
  }

  #text(delta: string): void {
    if (delta === "") return;
    this.#output.write(delta);
    this.#isAtLineStart = delta.endsWith("\n");
  }

  #custom(event: AptoveCustomEvent): void {
    switch (event.name) {
      case "aptove.context":
        return [...rulesLines(event.value), contextLine(event.value)].forEach((text) => this.#note(text));
      case "aptove.steered":
        return this.#note(`steered: ${firstLine(event.value.text, 100)}`);
      case "aptove.subagent_started":
      case "aptove.subagent_ended":
        return this.#note(subagentLine(event));
      case "aptove.warning":
        return this.#warning(event.value);
      // A view, a question and the output of a call are for the chat. Here the call and its result are shown.
      case "aptove.approval_answered":
      case "aptove.tool_call_view":
      case "aptove.tool_output":
        return;
      default:
        ignoreUnknown(event);
    }
  }

  #note(text: string): void {
    this.endLine();
    const { dim } = this.#output.noteStyle;
    this.#output.note(dim(this.#output.safeNote(text)));
  }

  #warning(warning: { code: string; message: string }): void {
    this.endLine();
    const { yellow } = this.#output.noteStyle;
    this.#output.note(`${yellow("warning:")} ${this.#output.safeNote(warning.message)} (${warning.code})`);
  }

  #toolCall(id: string): void {
    this.#note(`→ ${this.#callNames.get(id) ?? "tool"} ${firstLine(this.#callArguments.get(id) ?? "", 100)}`);
  }
}

/** Names the ids of a finished turn, and what it used, in one line. */
export function endOfTurn(answer: ExecuteAnswer, startedAt: number): string {
  const stop = answer.stopReason === "stop" || answer.stopReason === null ? [] : [answer.stopReason];
  return [
    `session ${shortId(answer.sessionId)}`,
    `turn ${shortId(answer.turnId)}`,
    ...totalWords(answer.usage),
    duration(Date.now() - startedAt),
    ...stop,
  ].join(" · ");
}

/** Describes in one line what was gathered for the model. */
type GatheredRules = Pick<
  Extract<AgUiEvent, { name: "aptove.context" }>["value"],
  "rules" | "rulesChanged" | "skills" | "facts"
>;

function contextLine(context: Extract<AgUiEvent, { name: "aptove.context" }>["value"]): string {
  const { chunks, files, historyTurns, history } = context;
  const sentChunks = chunks.filter((chunk) => chunk.wasSent).length;
  const sentFiles = files.filter((file) => file.wasSent).length;
  const parts = [`retrieved ${plural(chunks.length, "chunk")}, sent ${sentChunks}`];
  if (files.length > 0) parts.push(`${plural(files.length, "active file")}, sent ${sentFiles}`);
  if (history !== "none") parts.push(historyWords(history, historyTurns));
  return parts.join(" · ");
}

/**
 * Names the rules of the repository and the skills when they are used the first time, and when they change, and counts the facts that the
 * message brings (M1, M3, M4).
 */
export function rulesLines({ rules = [], rulesChanged = [], skills = [], facts = [] }: GatheredRules): string[] {
  return [
    ...(rules.length > 0 ? [`rules: ${rules.join(", ")}`] : []),
    ...(rulesChanged.length > 0 ? [`rules changed: ${rulesChanged.join(", ")}`] : []),
    ...(skills.length > 0 ? [`skills: ${skills.join(", ")}`] : []),
    ...(facts.length > 0 ? [`memory: ${plural(facts.length, "fact")}`] : []),
  ];
}

/** Describes a tool's result in one line: its beginning, and how much more there is. */
function foldedResult({ content, metadata }: Extract<AgUiEvent, { type: "TOOL_CALL_RESULT" }>): string {
  if (typeof content !== "string") return "(not text)";
  const lines = content.trimEnd().split("\n").length;
  const more = lines > 1 ? ` (${lines} lines, ${bytes(Buffer.byteLength(content))})` : "";
  return `${metadata?.["isError"] === true ? "failed: " : ""}${firstLine(content, 100)}${more}`;
}

export function historyWords(history: "none" | "chain" | "replay", turns: number): string {
  switch (history) {
    case "none":
      return "no history";
    case "chain":
      return `history of ${plural(turns, "turn")} continued from the provider's memory`;
    case "replay":
      return `history of ${plural(turns, "turn")} sent from our store`;
  }
}
