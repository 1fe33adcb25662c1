/** Builds the terminal of a chat: the typed lines, the painted screen, and how turns are shown on it. */
import type { CliInvocation } from "../invocation.ts";
import type { ChatView } from "./chat-view.ts";
import { neutralize } from "../output.ts";
import { InputHistory } from "../terminal/input-history.ts";
import { spinnerMs } from "../terminal/spinner.ts";
import { TerminalLines } from "./terminal-lines.ts";
import { ToolBoard } from "../terminal/tool-board.ts";

export interface OpenTerminalOptions {
  /** The names of commands, with their slashes. */
  commands: readonly string[];
  /** The folder that paths after `@` are relative to. */
  folder: string;
  historyFile: string | null;
  /** Returns what can follow a command. */
  choices(command: string): readonly string[];
  status(): string;
  onInterrupt(): void;
}

export function openTerminal(
  invocation: CliInvocation,
  wishes: OpenTerminalOptions,
): { lines: TerminalLines; view: ChatView } {
  // These modules are needed for the first token of an answer. They load while the first line is typed, so that the
  // prompt appears first.
  const setting = new Promise((resolve) => setImmediate(resolve)).then(() =>
    Promise.all([import("marked"), import("./turn-screen.ts"), import("../terminal/markdown-lines.ts")]),
  );
  const { style } = invocation.output;
  const lines = new TerminalLines({
    io: invocation.io,
    style,
    history: new InputHistory(wishes.historyFile),
    commands: wishes.commands,
    folder: wishes.folder,
    choices: (command) => wishes.choices(command),
    status: () => wishes.status(),
    onInterrupt: () => wishes.onInterrupt(),
    onDetails: () => showDetails(),
  });
  const { terminal } = lines;
  const board = new ToolBoard({
    style,
    width: () => terminal.size.columns,
    print: (text) => terminal.printLines(text),
    changed: () => terminal.changed(),
  });
  const showDetails = (): void =>
    terminal.printLines(board.unfolded(1) ?? [style.dim("there is no tool call to show")]);
  invocation.output.showOn((text) => terminal.print(text));
  return {
    lines,
    view: {
      board,
      turn: async ({ isFollowing }) => {
        const [{ Lexer }, { TurnScreen }] = await setting;
        return new TurnScreen({ terminal, board, style, isFollowing, lex: (text) => Lexer.lex(text) });
      },
      markdown: async (text) => {
        const [{ Lexer }, { textWidthMax }, { documentLines }] = await setting;
        const width = Math.min(textWidthMax, terminal.size.columns - 1);
        return documentLines(Lexer.lex(neutralize(text)), { style, width });
      },
      during: async (work) => {
        terminal.showAbove(() => ["", ...board.live()]);
        const timer = setInterval(() => terminal.changed(), spinnerMs);
        try {
          return await work;
        } finally {
          clearInterval(timer);
          terminal.showAbove(null);
        }
      },
    },
  };
}
