/**
 * Reads a history of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, and its subagents in
 * `<session>/subagents/agent-<id>.jsonl`. One line is one message or one fact. Lines name the line that they follow, so a
 * person who goes back makes a branch. An answer of the model is several lines with one message id.
 */
import type { Usage } from "../domain/usage.ts";
import { count, fields, listField, millis, textField, textOrNull, type Fields } from "./fields.ts";
import type { HistoryLine } from "./history-lines.ts";
import { HistoryParser } from "./history-parser.ts";
import type { DraftedTurn, ForeignDraft } from "./turn-draft.ts";

/** Messages in the person's name that the program itself wrote for its own screen. */
const ownNotes =
  /^<(?:command-name|command-message|local-command-stdout|local-command-stderr|local-command-caveat|bash-)/;
const interruption = /^\[Request interrupted by user/;

export class ClaudeCodeParser extends HistoryParser {
  /** True for the file of a subagent, all of whose lines are aside. */
  readonly #isSubagent: boolean;
  /** The turn that a line belongs to, by the id of the line. */
  readonly #turnOf = new Map<string, string>();
  #lines: string[] = [];
  #last: string | null = null;
  #summary: string | null = null;
  #isCompacted = false;
  #message = "";

  constructor(path: string, { isSubagent = false }: { isSubagent?: boolean } = {}) {
    super(path);
    this.#isSubagent = isSubagent;
  }

  protected read(value: Fields, line: HistoryLine): void {
    const at = millis(value["timestamp"], 0);
    this.noteTime(at);
    this.#noteFacts(value);
    const type = textField(value["type"]);
    if (value["isSidechain"] === true && !this.#isSubagent) return this.count("line of a subagent in the main file");
    if (type === "user") this.#user(value, { at, line });
    else if (type === "assistant") this.#assistant(value, at);
    else if (type === "system") this.#system(value);
    else if (type === "attachment") this.#attachment(value, at);
    else if (type === "custom-title") this.facts.name = textOrNull(value["customTitle"]) ?? this.facts.name;
    else this.count(type === "" ? "line without a type" : `line "${type.slice(0, 40)}"`);
    const id = textField(value["uuid"]);
    if (id !== "" && this.draft !== null) this.#lines.push(id);
  }

  #noteFacts(value: Fields): void {
    const { facts } = this;
    facts.id ??= textOrNull(value["sessionId"]);
    facts.version = textOrNull(value["version"]) ?? facts.version;
    facts.folder ??= textOrNull(value["cwd"]);
  }

  #user(value: Fields, { at, line }: { at: number; line: HistoryLine }): void {
    const { content } = fields(value["message"]);
    const written = typeof content === "string" ? content : partsText(content);
    const results = listField(content).filter((part) => fields(part)["type"] === "tool_result");
    if (results.length > 0) return this.#results(value, { results: results.map(fields), at });
    if (value["isCompactSummary"] === true) {
      this.#summary = written;
      return;
    }
    if (value["isMeta"] === true) return this.count("message of the program");
    if (ownNotes.test(written)) return this.count("local command");
    if (interruption.test(written)) return this.#interrupt(value, at);
    this.#beginTurn(value, { written, at, line });
    for (const part of listField(content)) if (fields(part)["type"] !== "text") this.count(partKind(part));
  }

  #beginTurn(value: Fields, { written, at, line }: { written: string; at: number; line: HistoryLine }): void {
    const key = textField(value["uuid"]) || `${line.from}`;
    this.end();
    const follows = textField(value["parentUuid"]);
    const isRoot = follows === "" && !this.#isCompacted;
    const parent = isRoot ? null : (this.#turnOf.get(follows) ?? this.#last);
    const draft = this.begin(key, { parent, at, line });
    draft.instruction = written;
    this.#addSummary(draft);
    this.#isCompacted = false;
  }

  #interrupt(value: Fields, at: number): void {
    if (this.draft === null) return this.count("interruption without a turn");
    this.draft.stopReason = "interrupted";
    this.draft.note(textField(value["uuid"]), at);
  }

  #results(value: Fields, { results, at }: { results: Fields[]; at: number }): void {
    const { draft } = this;
    if (draft === null) return this.count("tool result without its call");
    const { agentId } = fields(value["toolUseResult"]);
    if (typeof agentId === "string")
      draft.started.set(agentId, textField(fields(value["toolUseResult"])["description"]));
    for (const result of results) {
      for (const part of listField(result["content"])) if (fields(part)["type"] !== "text") draft.count(partKind(part));
      const { content } = result;
      const output = typeof content === "string" ? content : partsText(content);
      draft.result(textField(result["tool_use_id"]), output, result["is_error"] === true);
    }
    draft.note(textField(value["uuid"]), at);
  }

  #assistant(value: Fields, at: number): void {
    const { draft } = this;
    if (draft === null) return this.count("answer without a question");
    const message = fields(value["message"]);
    if (value["isApiErrorMessage"] === true) {
      draft.note(textField(value["uuid"]), at);
      return draft.count("error of the provider");
    }
    draft.model = textOrNull(message["model"]) ?? draft.model;
    const id = textField(message["id"]);
    this.#addSummary(draft);
    draft.used(usageOf(message["usage"]), { isAgain: id !== "" && id === this.#message });
    this.#message = id;
    for (const part of listField(message["content"])) addPart(draft, fields(part));
    draft.note(textField(value["uuid"]), at);
  }

  #addSummary(draft: ForeignDraft): void {
    if (this.#summary !== null) draft.compacted(this.#summary);
    this.#summary = null;
  }

  #system(value: Fields): void {
    const subtype = textField(value["subtype"]);
    if (subtype === "compact_boundary") this.#isCompacted = true;
    this.count(`system line "${subtype.slice(0, 40)}"`);
  }

  #attachment(value: Fields, at: number): void {
    const attachment = fields(value["attachment"]);
    const type = textField(attachment["type"]);
    const { prompt } = attachment;
    const written = typeof prompt === "string" ? prompt : partsText(prompt);
    if (type !== "queued_command" || written === "" || this.draft === null)
      return this.count(`attachment "${type.slice(0, 40)}"`);
    this.draft.user(written);
    this.draft.note(textField(value["uuid"]), at);
  }

  protected override ended(_draft: ForeignDraft, turn: DraftedTurn): void {
    for (const line of this.#lines) this.#turnOf.set(line, turn.id);
    this.#lines = [];
    this.#last = turn.id;
  }
}

function addPart(draft: ForeignDraft, part: Fields): void {
  switch (part["type"]) {
    case "text":
      return draft.assistant(textField(part["text"]));
    case "thinking":
      return draft.reasoning(textField(part["thinking"]));
    case "tool_use":
      return draft.call(textField(part["id"]), textField(part["name"]), JSON.stringify(part["input"] ?? {}));
    default:
      return draft.count(partKind(part));
  }
}

function partKind(part: unknown): string {
  return `part "${(textField(fields(part)["type"]) || "unknown").slice(0, 40)}"`;
}

function partsText(content: unknown): string {
  return listField(content)
    .map((part) => textField(fields(part)["text"]))
    .filter((piece) => piece !== "")
    .join("\n\n");
}

/** What Claude Code calls `input_tokens` leaves out what came from the cache and went to it. */
function usageOf(value: unknown): Usage | null {
  const usage = fields(value);
  const cached = count(usage["cache_read_input_tokens"]);
  const written = count(usage["cache_creation_input_tokens"]);
  const input = count(usage["input_tokens"]) + cached + written;
  const output = count(usage["output_tokens"]);
  if (input + output === 0) return null;
  const reasoning = count(fields(usage["output_tokens_details"])["thinking_tokens"]);
  return { input, output, cached, reasoning, total: input + output, ...(written > 0 && { written }) };
}
