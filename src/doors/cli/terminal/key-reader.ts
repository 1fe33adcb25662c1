/** Keys of a terminal, as Node takes its bytes apart. */
import { emitKeypressEvents } from "node:readline";
import type { CliIo } from "../ports.ts";

export interface PressedKey {
  /** What it types; undefined for keys that type nothing. */
  text: string | undefined;
  /** Undefined for characters beyond letters and digits. */
  name: string | undefined;
  ctrl: boolean;
  /** Alt, or Escape before it. */
  meta: boolean;
  shift: boolean;
}

const bracketedPasteOn = "\u001b[?2004h";
const bracketedPasteOff = "\u001b[?2004l";

export interface KeyListener {
  key(key: PressedKey): void;
  /** A block that was pasted, with line feeds only. */
  paste(text: string): void;
  /** There is no terminal any more. */
  end(): void;
}

/** Takes the terminal's keys one by one until `close`. */
export class KeyReader {
  readonly #io: CliIo;
  readonly #listener: KeyListener;
  /** What was pasted so far, while it is. */
  #pasted: string[] | null = null;
  readonly #onKey = (text: string | undefined, key: RawKey): void => this.#take(text, key);
  readonly #onEnd = (): void => this.#listener.end();

  constructor(io: CliIo, listener: KeyListener) {
    this.#io = io;
    this.#listener = listener;
    emitKeypressEvents(io.stdin);
    io.stdin.on("keypress", this.#onKey);
    io.stdin.on("end", this.#onEnd);
    this.open();
  }

  open(): void {
    this.#io.stdin.setRawMode?.(true);
    this.#io.stdout.write(bracketedPasteOn);
    this.#io.stdin.resume();
  }

  /** The terminal works as the shell expects it, until `open`. */
  pause(): void {
    this.#io.stdout.write(bracketedPasteOff);
    this.#io.stdin.setRawMode?.(false);
  }

  close(): void {
    this.#io.stdin.off("keypress", this.#onKey);
    this.#io.stdin.off("end", this.#onEnd);
    this.pause();
    this.#io.stdin.pause();
  }

  #take(text: string | undefined, key: RawKey): void {
    if (key.name === "paste-start") {
      this.#pasted = [];
    } else if (key.name === "paste-end") {
      const pasted = this.#pasted?.join("") ?? "";
      this.#pasted = null;
      this.#listener.paste(pasted.replaceAll(/\r\n?/g, "\n"));
    } else if (this.#pasted !== null) {
      this.#pasted.push(key.sequence ?? text ?? "");
    } else {
      const { name, ctrl = false, meta = false, shift = false } = key;
      this.#listener.key({ text, name, ctrl, meta, shift });
    }
  }
}

interface RawKey {
  sequence?: string;
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
  shift?: boolean;
}
