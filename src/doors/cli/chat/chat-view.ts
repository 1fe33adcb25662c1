/** How a chat shows its turns and the calls of its tools: on a terminal that can be repainted, or line by line. */
import { TurnRenderer, type TurnView } from "../show/render-turn.ts";
import type { CliOutput } from "../output.ts";
import { ToolBoard } from "../terminal/tool-board.ts";

export interface ChatView {
  board: ToolBoard;
  /** Shows a turn. `isFollowing`: the turn only sends results of tools to the model. */
  turn(how: { isFollowing: boolean }): Promise<TurnView>;
  /** Returns a text of Markdown as lines that can be printed. An empty text has none. */
  markdown(text: string): Promise<string[]>;
  /** Shows the running tool calls until `work` has ended. */
  during<T>(work: Promise<T>): Promise<T>;
}

export function plainView(output: CliOutput): ChatView {
  const board = new ToolBoard({
    style: output.noteStyle,
    width: () => output.width,
    print: (lines) => output.note(lines.join("\n")),
    changed: () => undefined,
  });
  return {
    board,
    turn: async () => new TurnRenderer(output),
    markdown: async (text) => (text === "" ? [] : output.safeNote(text).split("\n")),
    during: (work) => work,
  };
}
