/** How a chat shows its turns and the calls of its tools: on a terminal that can be painted anew, or line by line. */
import { TurnRenderer, type TurnView } from "../show/render-turn.ts";
import type { CliOutput } from "../output.ts";
import { ToolBoard } from "../terminal/tool-board.ts";

export interface ChatView {
  board: ToolBoard;
  /** `isFollowing`: the turn only brings results of tools to the model. */
  turn(how: { isFollowing: boolean }): Promise<TurnView>;
  /** Shows the calls that run, while `work` lasts. */
  during<T>(work: Promise<T>): Promise<T>;
}

export function plainView(output: CliOutput): ChatView {
  const board = new ToolBoard({
    style: output.noteStyle,
    width: () => output.width,
    print: (lines) => output.note(lines.join("\n")),
    changed: () => undefined,
  });
  return { board, turn: async () => new TurnRenderer(output), during: (work) => work };
}
