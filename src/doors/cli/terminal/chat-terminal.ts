/**
 * The terminal of a chat: the printed lines, and below them, while they last, the open block of Markdown, the running
 * tool calls, the status line and the typed line. All output to the terminal passes through here.
 */
import { neutralize, type OutputStyle } from "../output.ts";
import type { CliIo } from "../ports.ts";
import { cut } from "./cells.ts";
import { KeyReader, type PressedKey } from "./key-reader.ts";
import { type PaintedLines, PrintingTerminal } from "./printing-terminal.ts";
import { typedRows } from "./typed-rows.ts";
import { TypedLine, type TypedLineOptions } from "./typed-line.ts";

export interface ChatTerminalOptions extends TypedLineOptions {
  io: CliIo;
  style: OutputStyle;
  /** Returns the line above the prompt. Empty: no line. */
  status(): string;
  onSubmit(text: string): void;
  onInterrupt(): void;
  /** Called for Ctrl-D, and when the terminal has gone. */
  onEnd(): void;
  onDetails(): void;
  /** Returns the time in milliseconds since the epoch. */
  now?(): number;
}

/**
 * What the typed line is for. `hidden`: no line is shown, and what is typed is kept for later. Each character of `keys`
 * is a whole answer, without Enter.
 */
export type TypingPurpose =
  | { as: "prompt" }
  | { as: "steering" }
  | { as: "answer"; question: string; keys?: string }
  | { as: "hidden" };

const echoedLinesMax = 20;
/**
 * How long after a question a key alone is no answer, in milliseconds. A person who types at that moment has not read
 * it yet.
 */
const unreadMs = 300;

export class ChatTerminal extends PrintingTerminal {
  readonly #options: ChatTerminalOptions;
  readonly #typed: TypedLine;
  readonly #keys: KeyReader;
  #typing: TypingPurpose = { as: "hidden" };
  /** The text of the typed line while a question is answered instead. */
  #setAside = "";
  /** The time of the open question. Null if a line was being typed then: it needs Enter, like any line. */
  #askedAt: number | null = null;
  /** A key that answers the question unless more is typed with it. */
  #answerKey: { text: string; timer: NodeJS.Immediate } | null = null;
  readonly #onResize = (): void => this.repaint();

  constructor(options: ChatTerminalOptions) {
    const { io } = options;
    super(io);
    this.#options = options;
    this.#typed = new TypedLine(options);
    this.#keys = new KeyReader(io, {
      key: (key) => this.#key(key),
      paste: (text) => this.#paste(text),
      end: () => options.onEnd(),
    });
    io.stdout.on("resize", this.#onResize);
  }

  type(typing: TypingPurpose): void {
    if (typing.as === "answer") {
      this.#setAside = this.#typed.take();
      this.#askedAt = this.#setAside === "" ? (this.#options.now ?? Date.now)() : null;
    } else if (this.#typing.as === "answer") this.#typed.editor.set(this.#setAside);
    this.#typing = typing;
    this.repaint();
  }

  protected leave(): void {
    this.#typing = { as: "hidden" };
    this.#typeAnswerKey();
    this.#options.io.stdout.off("resize", this.#onResize);
    this.#keys.close();
  }

  #paste(text: string): void {
    this.#typeAnswerKey();
    this.#typed.paste(text);
    this.repaint();
  }

  #key(key: PressedKey): void {
    if (this.#isAnswer(key)) return this.#answerWith(key.text);
    this.#typeAnswerKey();
    const { onInterrupt, onEnd, onDetails } = this.#options;
    switch (this.#typed.key(key)) {
      case "submit":
        this.#submit();
        break;
      case "interrupt":
        if (this.#typing.as === "prompt" && !this.#typed.editor.isEmpty) this.#typed.take();
        else onInterrupt();
        break;
      case "leave":
        onEnd();
        break;
      case "erase":
        this.screen.erase();
        break;
      case "details":
        onDetails();
        break;
      case "suspend":
        this.#suspend();
        break;
      case null:
        break;
    }
    this.repaint();
  }

  #isAnswer(key: PressedKey): key is PressedKey & { text: string } {
    const { text = "", ctrl, meta } = key;
    if (this.#typing.as !== "answer" || this.#typing.keys === undefined || this.#askedAt === null) return false;
    if (ctrl || meta || this.#answerKey !== null || !this.#typed.editor.isEmpty) return false;
    return text !== "" && this.#typing.keys.includes(text) && !this.#isUnread(this.#askedAt);
  }

  /** Answers when the input has been read to its end: a text that arrives at once is a line, whatever it begins with. */
  #answerWith(text: string): void {
    const timer = setImmediate(() => {
      this.#typeAnswerKey();
      this.#submit();
      this.repaint();
    });
    this.#answerKey = { text, timer };
  }

  /** Makes the key that would have answered a part of the typed line. */
  #typeAnswerKey(): void {
    if (this.#answerKey === null) return;
    clearImmediate(this.#answerKey.timer);
    this.#typed.editor.insert(this.#answerKey.text);
    this.#answerKey = null;
  }

  /** Returns true for an Enter that was meant for what was there before the question. */
  #isStrayEnter(): boolean {
    if (!this.#typed.editor.isEmpty) return false;
    if (this.#typing.as === "hidden") return true;
    return this.#typing.as === "answer" && this.#askedAt !== null && this.#isUnread(this.#askedAt);
  }

  #isUnread(askedAt: number): boolean {
    return (this.#options.now ?? Date.now)() - askedAt < unreadMs;
  }

  #submit(): void {
    const { onSubmit, history } = this.#options;
    if (this.#isStrayEnter()) return;
    const text = this.#typed.take();
    if (this.#typing.as !== "answer") history.add(text);
    if (this.#typing.as === "prompt") this.printLines(["", ...this.#echo(text)]);
    else if (this.#typing.as === "answer") this.printLines(this.#echo(text));
    onSubmit(text);
  }

  /** Returns the submitted text as lines that stay, without the status line. */
  #echo(text: string): string[] {
    const prompt = this.#prompt();
    const room = { columns: this.size.columns, rowsMax: Number.POSITIVE_INFINITY };
    const { rows } = typedRows({ prompt, before: text, after: "" }, room);
    const more = rows.length - echoedLinesMax;
    return more > 0 ? [...rows.slice(0, echoedLinesMax), this.#options.style.dim(`  … ${more} more lines`)] : rows;
  }

  #prompt(): string {
    const { cyan, dim, yellow } = this.#options.style;
    if (this.#typing.as === "answer") return yellow(this.#typing.question);
    return this.#typing.as === "steering" ? dim("› ") : cyan("› ");
  }

  protected paint({ done, above }: PaintedLines): void {
    if (this.#typing.as === "hidden") return this.screen.paint({ done, live: above, cursor: null });
    const { rows, cursor } = this.#typedRows();
    const hints = this.#hints();
    this.screen.paint({
      done,
      live: [...above, ...this.#status(), ...rows, ...hints],
      cursor: { ...cursor, rowsUp: cursor.rowsUp + hints.length },
    });
  }

  #typedRows(): ReturnType<typeof typedRows> {
    const { before, after } = this.#typed.editor;
    const { columns, rows } = this.size;
    const prompt = this.#typed.searchPrompt ?? this.#prompt();
    return typedRows({ prompt, before, after }, { columns, rowsMax: Math.max(2, Math.floor(rows / 2)) });
  }

  #status(): string[] {
    const text = this.#typing.as === "prompt" ? this.#options.status() : "";
    return text === "" ? [] : ["", this.#options.style.dim(cut(neutralize(text), this.size.columns - 1))];
  }

  #hints(): string[] {
    const rows = this.#typed.choices.map((choice) => neutralize(choice)).join("  ");
    const width = this.size.columns - 1;
    return rows === "" ? [] : [this.#options.style.dim(cut(rows, width))];
  }

  /**
   * Suspends the process and returns the terminal to the shell until the process continues. Does nothing during a turn,
   * because the turn would be lost.
   */
  #suspend(): void {
    const { io } = this.#options;
    if (io.suspend === undefined || this.#typing.as !== "prompt") return;
    this.screen.close();
    this.#keys.pause();
    io.suspend(() => {
      this.#keys.open();
      this.repaint();
    });
  }
}
