/** Reads the keys of a terminal, as Node parses its bytes. */
import { emitKeypressEvents } from "node:readline";
import type { CliIo } from "../ports.ts";

export interface PressedKey {
  /** The text that the key types. Undefined for keys that type nothing. */
  text: string | undefined;
  /** The name of the key. Undefined for characters other than letters and digits. */
  name: string | undefined;
  ctrl: boolean;
  /** True if Alt was held, or Escape was pressed before. */
  meta: boolean;
  shift: boolean;
}

const bracketedPasteOn = "\u001b[?2004h";
const bracketedPasteOff = "\u001b[?2004l";

export interface KeyListener {
  key(key: PressedKey): void;
  /** Called with a pasted block. Its line ends are line feeds. */
  paste(text: string): void;
  /** Called when the terminal has gone. */
  end(): void;
}

/** Reads the keys of the terminal until `close`. */
export class KeyReader {
  readonly #io: CliIo;
  readonly #listener: KeyListener;
  /** The pieces of a paste that has not ended. Null if there is none. */
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

  /** Returns the terminal to the mode that a shell expects, until `open`. */
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
