/**
 * The tool calls of a chat. A running call has a line and the last lines of its output. A call that has ended has one
 * line that stays. Folded details can be shown again for some time.
 */
import type { ToolCallView, ToolContent } from "../../../domain/tool.ts";
import { duration, firstLine, neutralize, type OutputStyle } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { visibleText } from "../../../tools/shown-text.ts";
import { chop, cut } from "./cells.ts";
import { contentLines, wholeContentLines } from "./content-lines.ts";
import { spinner } from "./spinner.ts";

export interface BoardPorts {
  style: OutputStyle;
  /** Returns the width of a line in cells. */
  width(): number;
  /** Prints lines that stay. */
  print(lines: readonly string[]): void;
  /** Called when the lines of running calls have changed. */
  changed(): void;
  /** What follows the count of lines that are left out. Default: how a chat shows them. */
  moreHint?: string;
}

export interface CallOutcome {
  output: string;
  isError: boolean;
  content?: readonly ToolContent[] | undefined;
}

interface BoardCall {
  name: string;
  args: string;
  view: ToolCallView | null;
  /** The end of the output so far. */
  shown: string;
  startedAt: number;
  ms: number;
  outcome: CallOutcome | null;
}

const keptCallsMax = 50;
const shownCharactersMax = 4_096;
const shownLinesMax = 3;
const foldedLinesMax = 12;
const unfoldedLinesMax = 400;
const argumentCharactersMax = 80;

export class ToolBoard {
  readonly #ports: BoardPorts;
  readonly #running = new Map<string, BoardCall>();
  /** Calls whose outcome is reported elsewhere, perhaps in a later turn. */
  readonly #waiting = new Map<string, BoardCall>();
  /** The calls that have ended, newest last. */
  readonly #ended: BoardCall[] = [];
  readonly #endedIds = new Set<string>();

  constructor(ports: BoardPorts) {
    this.#ports = ports;
  }

  begin(callId: string, name: string, args = ""): void {
    this.#running.set(callId, newCall(name, args));
    this.#ports.changed();
  }

  arguments(callId: string, delta: string): void {
    const call = this.#running.get(callId);
    if (call !== undefined) call.args += delta;
  }

  view(callId: string, view: ToolCallView): void {
    this.#called(callId, view.title).view = view;
    this.#ports.changed();
  }

  /** Starts the time of a call again when it runs. Before, a person decided whether it may. */
  restart(callId: string): void {
    const call = this.#running.get(callId);
    if (call !== undefined) call.startedAt = Date.now();
  }

  output(callId: string, delta: string): void {
    const call = this.#running.get(callId);
    if (call !== undefined) call.shown = (call.shown + delta).slice(-shownCharactersMax);
    this.#ports.changed();
  }

  /** Ends a call. Only its first outcome counts. `wasSeen`: its change was already shown with the question. */
  end(callId: string, { wasSeen = false, ...outcome }: CallOutcome & { wasSeen?: boolean }): void {
    if (this.#endedIds.has(callId)) return;
    const call = this.#called(callId, callId);
    this.#running.delete(callId);
    this.#endedIds.add(callId);
    const ended = { ...call, outcome, ms: Date.now() - call.startedAt };
    this.#ended.push(ended);
    if (this.#ended.length > keptCallsMax) this.#ended.shift();
    this.#ports.print([...this.#endedLines(ended), ...(wasSeen ? [] : this.#change(ended, foldedLinesMax))]);
  }

  /** Removes all running calls from the board: a person decides about them, or they continue elsewhere. */
  dropAll(): void {
    for (const callId of this.#running.keys()) this.drop(callId);
  }

  drop(callId: string): void {
    const call = this.#running.get(callId);
    if (call === undefined) return;
    this.#running.delete(callId);
    this.#waiting.set(callId, call);
    this.#ports.changed();
  }

  /** Returns the lines of the running calls. */
  live(): string[] {
    const { style } = this.#ports;
    return [...this.#running.values()].flatMap((call) => {
      const ms = Date.now() - call.startedAt;
      const took = ms < 1_000 ? "" : style.dim(` ${duration(ms)}`);
      return [`${style.cyan(spinner())} ${this.#title(call)}${took}`, ...this.#tail(call.shown)];
    });
  }

  /** Returns the lines that describe a call in a question about it. */
  asked(callId: string, name: string, args: string): string[] {
    const { style } = this.#ports;
    const call = this.#running.get(callId) ?? this.#waiting.get(callId) ?? newCall(name, args);
    if (!this.#running.has(callId)) this.#waiting.set(callId, call);
    // A person decides about all of it, so nothing is cut.
    const [first = "", ...rest] = chop(visibleText(this.#words(call)).replaceAll(/\s*\n\s*/g, " ⏎ "), this.#room);
    return [
      `${style.yellow("?")} ${style.bold(first)}`,
      ...rest.map((line) => `  ${style.bold(line)}`),
      ...wholeContentLines(call.view?.content ?? [], { style, width: this.#room }),
    ];
  }

  /** Returns all details of a call that has ended; 1 is the last one. Null if there is none. */
  unfolded(number: number): string[] | null {
    const call = this.#ended.at(-number);
    if (call?.outcome === undefined || call.outcome === null) return null;
    const { dim } = this.#ports.style;
    const output = neutralize(call.outcome.output).trimEnd().split("\n");
    const more = output.length - unfoldedLinesMax;
    return [
      ...this.#endedLines(call),
      dim(firstLine(neutralize(`${call.name} ${call.args}`), 5 * argumentCharactersMax)),
      ...this.#change(call, unfoldedLinesMax),
      ...output.slice(0, unfoldedLinesMax),
      ...(more > 0 ? [dim(`… ${plural(more, "more line")}`)] : []),
    ];
  }

  /** Returns the call. One that was started in an earlier turn continues. */
  #called(callId: string, name: string): BoardCall {
    const running = this.#running.get(callId);
    if (running !== undefined) return running;
    const call = { ...(this.#waiting.get(callId) ?? newCall(name)), startedAt: Date.now() };
    this.#waiting.delete(callId);
    this.#running.set(callId, call);
    return call;
  }

  get #moreHint(): string {
    return this.#ports.moreHint ?? "; /details shows them";
  }

  #title(call: BoardCall): string {
    return this.#cut(this.#words(call));
  }

  /** A call without a view is described by its arguments. */
  #words({ view, name, args }: BoardCall): string {
    return view === null || view.title === name ? `${name} ${args}`.trim() : view.title;
  }

  get #room(): number {
    return Math.max(10, this.#ports.width() - 3);
  }

  #cut(text: string): string {
    const words = neutralize(firstLine(text, 500)).replaceAll(/\s+/g, " ");
    return cut(words, Math.max(10, this.#ports.width() - 14));
  }

  #endedLines(call: BoardCall): string[] {
    const { green, red, dim } = this.#ports.style;
    const { output = "", isError = false } = call.outcome ?? {};
    const lines = output.trimEnd().split("\n").length;
    const size = !isError && lines > 1 ? [plural(lines, "line")] : [];
    const facts = [duration(call.ms), ...size].join(" · ");
    const line = `${isError ? red("✗") : green("✓")} ${this.#title(call)} ${dim(`· ${facts}`)}`;
    return isError ? [line, `  ${red(this.#cut(output))}`] : [line];
  }

  #tail(shown: string): string[] {
    const lines = neutralize(lastStates(shown)).trimEnd().split("\n").slice(-shownLinesMax);
    const room = this.#ports.width() - 3;
    return lines
      .filter((line) => line !== "")
      .map((line) => this.#ports.style.dim(`  ${cut(line.replaceAll("\t", "    "), room)}`));
  }

  /** Returns what the call changed or planned. Text of its view was for the question only. */
  #change({ view, outcome }: BoardCall, linesMax: number): string[] {
    const content = outcome?.content ?? view?.content ?? [];
    const shown = content.filter(({ type }) => type !== "text");
    return contentLines(shown, { style: this.#ports.style, linesMax, moreHint: this.#moreHint });
  }
}

function newCall(name: string, args = ""): BoardCall {
  return { name, args, view: null, shown: "", startedAt: Date.now(), ms: 0, outcome: null };
}

/** Returns the last state of a line that a program wrote again and again, such as a progress bar. */
function lastStates(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(/[^\n]*\r(?!$)/g, "");
}
