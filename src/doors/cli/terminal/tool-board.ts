/**
 * The tool calls of a chat: while one runs, a line with what it does and the last lines of its output; when it has ended,
 * one line that stays. What is folded away can be unfolded for a while.
 */
import type { ToolCallView, ToolContent } from "../../../domain/tool.ts";
import { duration, firstLine, neutralize, plural, type OutputStyle } from "../output.ts";
import { cut } from "./cells.ts";
import { contentLines } from "./content-lines.ts";
import { spinner } from "./spinner.ts";

export interface BoardPorts {
  style: OutputStyle;
  /** Cells of a line. */
  width(): number;
  /** Lines that stay. */
  print(lines: readonly string[]): void;
  /** The lines of running calls are other ones now. */
  changed(): void;
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
  /** What it showed so far; its end. */
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
  /** Whose outcome somebody else will tell, perhaps in a later turn. */
  readonly #waiting = new Map<string, BoardCall>();
  /** Newest last. */
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

  /** From now on it runs; before, somebody thought about whether it may. */
  restart(callId: string): void {
    const call = this.#running.get(callId);
    if (call !== undefined) call.startedAt = Date.now();
  }

  output(callId: string, delta: string): void {
    const call = this.#running.get(callId);
    if (call !== undefined) call.shown = (call.shown + delta).slice(-shownCharactersMax);
    this.#ports.changed();
  }

  /** Only the first outcome of a call counts. `wasSeen`: its change was shown when it was asked about. */
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

  /** The calls run no more, or not yet: somebody will be asked about them, or they go on elsewhere. */
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

  /** The lines of the calls that run. */
  live(): string[] {
    const { style } = this.#ports;
    return [...this.#running.values()].flatMap((call) => {
      const ms = Date.now() - call.startedAt;
      const took = ms < 1_000 ? "" : style.dim(` ${duration(ms)}`);
      return [`${style.cyan(spinner())} ${this.#title(call)}${took}`, ...this.#tail(call.shown)];
    });
  }

  /** What a call is about to do, for a question about it. */
  asked(callId: string, name: string, args: string): string[] {
    const { style } = this.#ports;
    const call = this.#running.get(callId) ?? this.#waiting.get(callId) ?? newCall(name, args);
    if (!this.#running.has(callId)) this.#waiting.set(callId, call);
    return [
      `${style.yellow("?")} ${style.bold(this.#title(call))}`,
      ...contentLines(call.view?.content ?? [], { style, linesMax: 2 * foldedLinesMax }),
    ];
  }

  /** The whole of a call that has ended, the last one as 1; null: there is none. */
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

  /** A call that was begun in an earlier turn goes on. */
  #called(callId: string, name: string): BoardCall {
    const running = this.#running.get(callId);
    if (running !== undefined) return running;
    const call = { ...(this.#waiting.get(callId) ?? newCall(name)), startedAt: Date.now() };
    this.#waiting.delete(callId);
    this.#running.set(callId, call);
    return call;
  }

  #title({ view, name, args }: BoardCall): string {
    // A tool that has nothing to say of a call is shown with what it was given.
    const isNamed = view === null || view.title === name;
    return this.#cut(isNamed ? `${name} ${args}`.trim() : view.title);
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

  /** What it changed, or planned; words of its view were for whoever was asked. */
  #change({ view, outcome }: BoardCall, linesMax: number): string[] {
    const content = outcome?.content ?? view?.content ?? [];
    const told = content.filter(({ type }) => type !== "text");
    return contentLines(told, { style: this.#ports.style, linesMax });
  }
}

function newCall(name: string, args = ""): BoardCall {
  return { name, args, view: null, shown: "", startedAt: Date.now(), ms: 0, outcome: null };
}

/** A line that a program wrote over and over, such as a progress bar, as it was in the end. */
function lastStates(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(/[^\n]*\r(?!$)/g, "");
}
