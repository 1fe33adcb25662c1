/**
 * Shows a running turn on the terminal of a chat: text is set as Markdown while it streams, tool calls are folded to
 * one line each.
 */
import type { AgUiEvent, AptoveCustomEvent, ExecuteAnswer } from "../../../client/client.ts";
import type { ToolContent } from "../../../domain/tool.ts";
import { ignoreUnknown } from "../../../system/guards.ts";
import { rulesLines, type TurnView } from "../show/render-turn.ts";
import { duration, firstLine, HarmlessPieces, neutralize, type OutputStyle } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { subagentLine } from "../show/subagent-lines.ts";
import { BundleFilter } from "../show/bundle-filter.ts";
import type { TurnTerminal } from "../terminal/printing-terminal.ts";
import { MarkdownStream, type LexMarkdown } from "../terminal/markdown-stream.ts";
import { spinner, spinnerMs } from "../terminal/spinner.ts";
import type { ToolBoard } from "../terminal/tool-board.ts";

export interface TurnScreenOptions {
  terminal: TurnTerminal;
  board: ToolBoard;
  lex: LexMarkdown;
  style: OutputStyle;
  /** True for a turn that only sends results of tools. What was gathered for it is not shown. */
  isFollowing: boolean;
}

/** After this time without an event, the state line says that the model is silent. */
const silenceShownMs = 15_000;

/** The longest line of text in cells, also on a wider terminal: longer lines are hard to read. */
export const textWidthMax = 100;

export class TurnScreen implements TurnView {
  readonly #options: TurnScreenOptions;
  readonly #startedAt = Date.now();
  #lastEventAt = Date.now();
  readonly #timer: NodeJS.Timeout;
  readonly #bundle = new BundleFilter();
  #text: MarkdownStream | null = null;
  #pieces = new HarmlessPieces();
  /** A carriage return that may belong to a line feed in the next piece. */
  #held = "";
  #lastPrinted: "text" | "notes" = "notes";
  #isThinking = false;
  #isFinished = false;

  constructor(options: TurnScreenOptions) {
    this.#options = options;
    const { terminal } = options;
    terminal.showAbove(() => this.#live());
    this.#timer = setInterval(() => terminal.changed(), spinnerMs);
  }

  event(event: AgUiEvent): void {
    const { board, terminal } = this.#options;
    this.#lastEventAt = Date.now();
    this.#isThinking = event.type.startsWith("REASONING_MESSAGE") && event.type !== "REASONING_MESSAGE_END";
    switch (event.type) {
      case "CUSTOM":
        this.#custom(event);
        break;
      case "TEXT_MESSAGE_START":
        this.#beginText();
        break;
      case "TEXT_MESSAGE_CONTENT":
        this.#more(event.delta);
        break;
      case "TEXT_MESSAGE_END":
        this.#endText();
        break;
      case "TOOL_CALL_START":
        this.#endText();
        this.#gap("notes");
        board.begin(event.toolCallId, event.toolCallName);
        break;
      case "TOOL_CALL_ARGS":
        board.arguments(event.toolCallId, event.delta);
        break;
      case "TOOL_CALL_END":
        board.restart(event.toolCallId);
        break;
      case "TOOL_CALL_RESULT":
        board.end(event.toolCallId, outcomeOf(event));
        break;
      // Events that frame a run and its steps are not shown. For reasoning, only the state line changes.
      case "RUN_STARTED":
      case "RUN_FINISHED":
      case "RUN_ERROR":
      case "STEP_STARTED":
      case "STEP_FINISHED":
      case "REASONING_MESSAGE_START":
      case "REASONING_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_END":
        break;
      default:
        ignoreUnknown(event);
    }
    terminal.changed();
  }

  finish(answer: ExecuteAnswer): void {
    this.settle(answer);
    const { stopReason } = answer;
    if (stopReason === null || stopReason === "stop" || stopReason === "tool_calls") return;
    this.#note(`— ${stopReason} · ${duration(Date.now() - this.#startedAt)}`);
  }

  /** Prints what the answer leaves to show, without its end. */
  settle(answer: ExecuteAnswer): void {
    this.endLine();
    this.#options.board.dropAll();
    // What was taken for proposed files is text if the answer has none.
    if (answer.fileBundle === null && this.#bundle.taken !== "") {
      this.#gap("text");
      this.#options.terminal.printLines(neutralize(this.#bundle.taken).trimEnd().split("\n"));
    }
  }

  endLine(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    clearInterval(this.#timer);
    this.#endText();
    this.#options.terminal.showAbove(null);
  }

  #beginText(): void {
    this.#endText();
    const { lex, style, terminal } = this.#options;
    const look = () => ({ style, width: Math.min(textWidthMax, terminal.size.columns - 1) });
    this.#text = new MarkdownStream(lex, look);
    this.#pieces = new HarmlessPieces();
  }

  #more(delta: string): void {
    const text = this.#held + delta;
    this.#held = text.endsWith("\r") ? "\r" : "";
    const shown = this.#bundle.push(text.slice(0, text.length - this.#held.length));
    this.#text?.push(this.#pieces.push(shown));
    this.#printText();
  }

  #endText(): void {
    this.#text?.push(this.#pieces.push(this.#bundle.push(this.#held) + this.#bundle.end()));
    this.#held = "";
    this.#text?.end();
    this.#printText();
    this.#text = null;
  }

  #printText(): void {
    const lines = this.#text?.takeDone() ?? [];
    if (lines.length === 0) return;
    this.#gap("text");
    this.#options.terminal.printLines(lines);
  }

  /** Prints a blank line between the model's text and everything else, and between two of its messages. */
  #gap(next: "text" | "notes"): void {
    if (this.#lastPrinted !== next) this.#options.terminal.printLines([""]);
    this.#lastPrinted = next;
  }

  #note(text: string): void {
    this.#gap("notes");
    this.#options.terminal.printLines([this.#options.style.dim(oneLine(text))]);
  }

  #custom(event: AptoveCustomEvent): void {
    const { board, style, terminal, isFollowing } = this.#options;
    switch (event.name) {
      case "aptove.context":
        if (!isFollowing) this.#given(event.value);
        break;
      case "aptove.steered":
        this.#note(`steered: ${firstLine(event.value.text, 100)}`);
        break;
      case "aptove.subagent_started":
      case "aptove.subagent_ended":
        this.#note(subagentLine(event));
        break;
      case "aptove.warning":
        this.#gap("notes");
        terminal.printLines([`${style.yellow("warning:")} ${oneLine(event.value.message)} (${event.value.code})`]);
        break;
      case "aptove.tool_call_view":
        board.view(event.value.callId, event.value.view);
        break;
      case "aptove.tool_output":
        board.output(event.value.callId, event.value.delta);
        break;
      // The result of the call shows the answer.
      case "aptove.approval_answered":
        break;
      default:
        ignoreUnknown(event);
    }
  }

  /** Notes what was sent with the instruction. The command /context shows the rest. */
  #given(context: Extract<AptoveCustomEvent, { name: "aptove.context" }>["value"]): void {
    const { chunks, files } = context;
    for (const text of rulesLines(context)) this.#note(text);
    const [given, whole] = [chunks, files].map((all) => all.filter(({ wasSent }) => wasSent).length);
    const parts = [...(given ? [plural(given, "chunk")] : []), ...(whole ? [plural(whole, "file")] : [])];
    if (parts.length > 0) this.#note(`with ${parts.join(" and ")}`);
  }

  #live(): string[] {
    const { board, style } = this.#options;
    const open = this.#text?.openLines() ?? [];
    const gap = open.length > 0 && this.#lastPrinted === "notes" ? [""] : [];
    const calls = board.live();
    const what = this.#isThinking ? "thinking" : "working";
    const silentMs = Date.now() - this.#lastEventAt;
    // While a call runs, its own line says how long it takes.
    const silence =
      calls.length > 0 || silentMs < silenceShownMs ? "" : ` · the model is silent for ${duration(silentMs)}`;
    const took = duration(Date.now() - this.#startedAt);
    const state = style.dim(`${spinner()} ${what} ${took}${silence} · Ctrl-C stops`);
    return [...gap, ...open, ...calls, "", state];
  }
}

function oneLine(text: string): string {
  return neutralize(text).replaceAll(/\s*\n\s*/g, " ");
}

function outcomeOf(event: Extract<AgUiEvent, { type: "TOOL_CALL_RESULT" }>): {
  output: string;
  isError: boolean;
  content?: readonly ToolContent[];
} {
  const { content, metadata } = event;
  const changes = metadata?.["content"];
  return {
    output: typeof content === "string" ? content : "(not text)",
    isError: metadata?.["isError"] === true,
    ...(Array.isArray(changes) && { content: changes as ToolContent[] }),
  };
}
