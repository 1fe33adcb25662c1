/**
 * Reads a history of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, and its subagents in
 * `<session>/subagents/agent-<id>.jsonl`. One line is one message or one fact. Lines name the line that they follow, so a
 * person who goes back makes a branch. An answer of the model is several lines with one message id.
 */
import type { Usage } from "../domain/usage.ts";
import { count, fields, list, millis, text, textOrNull, type Fields } from "./fields.ts";
import type { HistoryLine } from "./history-lines.ts";
import { HistoryParser } from "./history-parser.ts";
import type { DraftedTurn, TurnDraft } from "./turn-draft.ts";

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
    const type = text(value["type"]);
    if (value["isSidechain"] === true && !this.#isSubagent) return this.count("line of a subagent in the main file");
    if (type === "user") this.#user(value, { at, line });
    else if (type === "assistant") this.#assistant(value, at);
    else if (type === "system") this.#system(value);
    else if (type === "attachment") this.#attachment(value, at);
    else if (type === "custom-title") this.facts.name = textOrNull(value["customTitle"]) ?? this.facts.name;
    else this.count(type === "" ? "line without a type" : `line "${type.slice(0, 40)}"`);
    const id = text(value["uuid"]);
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
    const said = typeof content === "string" ? content : partsText(content);
    const results = list(content).filter((part) => fields(part)["type"] === "tool_result");
    if (results.length > 0) return this.#results(value, { results: results.map(fields), at });
    if (value["isCompactSummary"] === true) {
      this.#summary = said;
      return;
    }
    if (value["isMeta"] === true) return this.count("message of the program");
    if (ownNotes.test(said)) return this.count("local command");
    if (interruption.test(said)) return this.#interrupt(value, at);
    this.#beginTurn(value, { said, at, line });
    for (const part of list(content)) if (fields(part)["type"] !== "text") this.count(partKind(part));
  }

  #beginTurn(value: Fields, { said, at, line }: { said: string; at: number; line: HistoryLine }): void {
    const key = text(value["uuid"]) || `${line.from}`;
    this.end();
    const follows = text(value["parentUuid"]);
    const isRoot = follows === "" && !this.#isCompacted;
    const parent = isRoot ? null : (this.#turnOf.get(follows) ?? this.#last);
    const draft = this.begin(key, { parent, at, line });
    draft.instruction = said;
    this.#addSummary(draft);
    this.#isCompacted = false;
  }

  #interrupt(value: Fields, at: number): void {
    if (this.draft === null) return this.count("interruption without a turn");
    this.draft.stopReason = "interrupted";
    this.draft.note(text(value["uuid"]), at);
  }

  #results(value: Fields, { results, at }: { results: Fields[]; at: number }): void {
    const { draft } = this;
    if (draft === null) return this.count("tool result without its call");
    const { agentId } = fields(value["toolUseResult"]);
    if (typeof agentId === "string") draft.started.set(agentId, text(fields(value["toolUseResult"])["description"]));
    for (const result of results) {
      for (const part of list(result["content"])) if (fields(part)["type"] !== "text") draft.count(partKind(part));
      const { content } = result;
      const output = typeof content === "string" ? content : partsText(content);
      draft.result(text(result["tool_use_id"]), output, result["is_error"] === true);
    }
    draft.note(text(value["uuid"]), at);
  }

  #assistant(value: Fields, at: number): void {
    const { draft } = this;
    if (draft === null) return this.count("answer without a question");
    const message = fields(value["message"]);
    if (value["isApiErrorMessage"] === true) {
      draft.note(text(value["uuid"]), at);
      return draft.count("error of the provider");
    }
    draft.model = textOrNull(message["model"]) ?? draft.model;
    const id = text(message["id"]);
    this.#addSummary(draft);
    draft.used(usageOf(message["usage"]), { isAgain: id !== "" && id === this.#message });
    this.#message = id;
    for (const part of list(message["content"])) addPart(draft, fields(part));
    draft.note(text(value["uuid"]), at);
  }

  #addSummary(draft: TurnDraft): void {
    if (this.#summary !== null) draft.compacted(this.#summary);
    this.#summary = null;
  }

  #system(value: Fields): void {
    const subtype = text(value["subtype"]);
    if (subtype === "compact_boundary") this.#isCompacted = true;
    this.count(`system line "${subtype.slice(0, 40)}"`);
  }

  #attachment(value: Fields, at: number): void {
    const attachment = fields(value["attachment"]);
    const type = text(attachment["type"]);
    const { prompt } = attachment;
    const said = typeof prompt === "string" ? prompt : partsText(prompt);
    if (type !== "queued_command" || said === "" || this.draft === null)
      return this.count(`attachment "${type.slice(0, 40)}"`);
    this.draft.user(said);
    this.draft.note(text(value["uuid"]), at);
  }

  protected override ended(_draft: TurnDraft, turn: DraftedTurn): void {
    for (const line of this.#lines) this.#turnOf.set(line, turn.id);
    this.#lines = [];
    this.#last = turn.id;
  }
}

function addPart(draft: TurnDraft, part: Fields): void {
  switch (part["type"]) {
    case "text":
      return draft.assistant(text(part["text"]));
    case "thinking":
      return draft.reasoning(text(part["thinking"]));
    case "tool_use":
      return draft.call(text(part["id"]), text(part["name"]), JSON.stringify(part["input"] ?? {}));
    default:
      return draft.count(partKind(part));
  }
}

function partKind(part: unknown): string {
  return `part "${(text(fields(part)["type"]) || "unknown").slice(0, 40)}"`;
}

function partsText(content: unknown): string {
  return list(content)
    .map((part) => text(fields(part)["text"]))
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
