/** What keys do to the typed line: editing, history, search and completion, as in common shells. */
import { complete } from "./completion.ts";
import type { InputHistory } from "./input-history.ts";
import type { PressedKey } from "./key-reader.ts";
import { LineEditor } from "./line-editor.ts";

export interface TypedLineOptions {
  history: InputHistory;
  /** The names of commands, with their slashes. */
  commands: readonly string[];
  /** Returns what can follow a command. Without it: nothing is completed there. */
  choices?(command: string): readonly string[];
  /** The folder that paths after `@` are relative to. */
  folder: string;
}

/** What a key requests that does not change the line. */
export type KeyOutcome = "submit" | "interrupt" | "leave" | "erase" | "details" | "suspend" | null;

interface Search {
  part: string;
  /** How many newer matches were skipped. */
  skip: number;
}

export class TypedLine {
  readonly editor = new LineEditor();
  readonly #options: TypedLineOptions;
  #search: Search | null = null;
  #choices: string[] = [];

  constructor(options: TypedLineOptions) {
    this.#options = options;
  }

  /** The prompt of the search for an earlier line. Null if no search is open. */
  get searchPrompt(): string | null {
    return this.#search === null ? null : `search \`${this.#search.part}\`: `;
  }
  /** The texts that would complete what is before the cursor. */
  get choices(): readonly string[] {
    return this.#choices;
  }

  /** Returns the line as it was typed, and empties it. */
  take(): string {
    this.#forget();
    this.#options.history.rest();
    return this.editor.take();
  }

  paste(text: string): void {
    this.#forget();
    this.editor.insert(text);
  }

  key(key: PressedKey): KeyOutcome {
    this.#choices = [];
    if (this.#search !== null && this.#searchKey(this.#search, key)) return null;
    if (key.ctrl) return this.#controlKey(key);
    if (key.meta) return this.#metaKey(key);
    return this.#plainKey(key);
  }

  #forget(): void {
    this.#search = null;
    this.#choices = [];
  }

  #plainKey({ name, text }: PressedKey): KeyOutcome {
    const { editor } = this;
    switch (name) {
      case "return":
        return this.#enter();
      case "enter":
        editor.insert("\n");
        return null;
      case "tab":
        this.#complete();
        return null;
      case "backspace":
        editor.erase("back");
        return null;
      case "delete":
        editor.erase("ahead");
        return null;
      case "left":
      case "right":
        editor.move(name);
        return null;
      case "up":
      case "down":
        this.#vertical(name);
        return null;
      case "home":
        editor.moveToEdge("start");
        return null;
      case "end":
        editor.moveToEdge("end");
        return null;
      default:
        if (text !== undefined && !/^\p{Cc}/u.test(text)) editor.insert(text);
        return null;
    }
  }

  #controlKey({ name }: PressedKey): KeyOutcome {
    const { editor } = this;
    switch (name) {
      case "c":
        return "interrupt";
      case "d":
        if (editor.isEmpty) return "leave";
        editor.erase("ahead");
        return null;
      case "l":
        return "erase";
      case "o":
        return "details";
      case "z":
        return "suspend";
      case "r":
        this.#search = { part: "", skip: 0 };
        return null;
      case "p":
        this.#vertical("up");
        return null;
      case "n":
        this.#vertical("down");
        return null;
      default:
        this.#editKey(name);
        return null;
    }
  }

  #editKey(name: string | undefined): void {
    const { editor } = this;
    const edits: Record<string, () => void> = {
      a: () => editor.moveToEdge("start"),
      e: () => editor.moveToEdge("end"),
      b: () => editor.move("left"),
      f: () => editor.move("right"),
      h: () => editor.erase("back"),
      k: () => editor.cutTo("end"),
      u: () => editor.cutTo("start"),
      w: () => editor.cutTo("word"),
      y: () => editor.putBack(),
      left: () => editor.moveWord("left"),
      right: () => editor.moveWord("right"),
      backspace: () => editor.cutTo("word"),
    };
    if (name !== undefined && Object.hasOwn(edits, name)) edits[name]?.();
  }

  #metaKey({ name }: PressedKey): KeyOutcome {
    const { editor } = this;
    if (name === "return" || name === "enter") editor.insert("\n");
    else if (name === "b" || name === "left") editor.moveWord("left");
    else if (name === "f" || name === "right") editor.moveWord("right");
    else if (name === "backspace") editor.cutTo("word");
    return null;
  }

  /** Continues on a new line after a backslash at the end of a line. */
  #enter(): KeyOutcome {
    const { editor } = this;
    if (!editor.before.endsWith("\\") || !/^(?:\n|$)/.test(editor.after)) return "submit";
    editor.replaceBefore(1, "\n");
    return null;
  }

  #vertical(direction: "up" | "down"): void {
    const { editor } = this;
    const isAtEdge = direction === "up" ? editor.isOnFirstLine : editor.isOnLastLine;
    if (!isAtEdge) return editor.moveLine(direction);
    const entry = this.#options.history.step(direction === "up" ? "older" : "newer", editor.text);
    if (entry !== null) editor.set(entry);
  }

  #complete(): void {
    const { editor } = this;
    const found = complete(editor.before, this.#options);
    if (found === null) return;
    editor.replaceBefore(found.replaces, found.text);
    this.#choices = found.choices;
  }

  /** Applies a key to the search. Returns false if the key ends the search and keeps its usual meaning. */
  #searchKey(search: Search, key: PressedKey): boolean {
    const { name, text, ctrl, meta } = key;
    if (ctrl && name === "r") return this.#searchFor({ ...search, skip: search.skip + 1 });
    if (name === "backspace") return this.#searchFor({ part: search.part.slice(0, -1), skip: 0 });
    if (ctrl && (name === "c" || name === "g")) {
      this.editor.set("");
      this.#search = null;
      return true;
    }
    if (!ctrl && !meta && text !== undefined && !/^\p{Cc}/u.test(text)) {
      return this.#searchFor({ part: search.part + text, skip: 0 });
    }
    this.#search = null;
    return name === "escape";
  }

  #searchFor(search: Search): true {
    const found = search.part === "" ? "" : this.#options.history.find(search.part, search.skip);
    if (found !== null) this.editor.set(found);
    if (found !== null || search.skip === 0) this.#search = search;
    return true;
  }
}
