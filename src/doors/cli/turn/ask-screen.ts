/** Shows the turn of `aptove ask` on a terminal: text is set as Markdown while it streams, as in a chat. */
import { Lexer } from "marked";
import type { AgUiEvent, ExecuteAnswer } from "../../../client/client.ts";
import { TurnScreen } from "../chat/turn-screen.ts";
import type { CliInvocation } from "../invocation.ts";
import { firstLine } from "../output.ts";
import { endOfTurn, type TurnView } from "../show/render-turn.ts";
import { OutputTerminal } from "../terminal/output-terminal.ts";
import { waitingWords } from "./waiting-call.ts";
import { ToolBoard } from "../terminal/tool-board.ts";

export class AskScreen implements TurnView {
  readonly #call: CliInvocation;
  readonly #startedAt = Date.now();
  readonly #terminal: OutputTerminal;
  readonly #screen: TurnScreen;

  constructor(invocation: CliInvocation) {
    const { output, io } = invocation;
    const { style } = output;
    const terminal = new OutputTerminal(io);
    const board = new ToolBoard({
      style,
      width: () => terminal.size.columns,
      print: (lines) => terminal.printLines(lines),
      changed: () => terminal.changed(),
      moreHint: "",
    });
    this.#call = invocation;
    this.#terminal = terminal;
    this.#screen = new TurnScreen({ terminal, board, style, isFollowing: false, lex: (text) => Lexer.lex(text) });
    output.showOn((text) => terminal.print(text));
  }

  event(event: AgUiEvent): void {
    this.#screen.event(event);
  }

  finish(answer: ExecuteAnswer): void {
    this.#screen.settle(answer);
    const { output } = this.#call;
    const { dim } = output.noteStyle;
    for (const call of answer.toolCalls) {
      output.note(dim(output.safeNote(waitingWords(call, firstLine(call.arguments, 80)))));
    }
    output.note(dim(`— ${endOfTurn(answer, this.#startedAt)}`));
  }

  endLine(): void {
    this.#screen.endLine();
    this.#call.output.showOn(null);
    this.#terminal.close();
  }
}
