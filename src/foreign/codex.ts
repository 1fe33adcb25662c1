/**
 * Reads a history of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`. The items of the model's
 * own wire are in it as they were sent, with events of the program between them. Subagents have files of their own.
 */
import type { Usage } from "../domain/usage.ts";
import { count, fields, listField, millis, textField, textOrNull, type Fields } from "./fields.ts";
import type { HistoryLine } from "./history-lines.ts";
import { HistoryParser } from "./history-parser.ts";
import type { DraftedTurn, ForeignDraft } from "./turn-draft.ts";

/** Messages in the person's name that the program itself wrote. */
const ownMessage =
  /^(?:<(?:environment_context|user_instructions|permissions|skills?_|skill>|turn_aborted|subagent_notification|collaboration|personality|apps_instructions)|# AGENTS\.md instructions)/;

export class CodexParser extends HistoryParser {
  #model = "";
  #summary: string | null = null;
  /** The turns so far, from the first: the program can go back by a number of turns. */
  #lineage: string[] = [];
  #total = -1;
  /** True once the file has marked where turns begin. Older versions did not. */
  #marksTurns = false;

  protected read(value: Fields, line: HistoryLine): void {
    const at = millis(value["timestamp"], 0);
    this.noteTime(at);
    const payload = fields(value["payload"]);
    const type = textField(value["type"]);
    if (type === "session_meta") this.#meta(payload);
    else if (type === "turn_context") this.#context(payload);
    else if (type === "response_item") this.#item(payload, { at, line });
    else if (type === "event_msg") this.#event(payload, { at, line });
    else if (type === "compacted") this.#compacted(payload);
    else this.count(type === "" ? "line without a type" : `line "${type.slice(0, 40)}"`);
  }

  /** The first of these lines is that of the file. A fork also has the one of the conversation that it came from. */
  #meta(payload: Fields): void {
    const { facts } = this;
    if (facts.id !== null) return this.count("facts of an earlier conversation");
    facts.id = textOrNull(payload["id"]);
    facts.version = textOrNull(payload["cli_version"]);
    facts.folder = textOrNull(payload["cwd"]);
    const spawn = fields(fields(fields(payload["source"])["subagent"])["thread_spawn"]);
    facts.spawnedBy = textOrNull(spawn["parent_thread_id"]) ?? textOrNull(payload["parent_thread_id"]);
    this.noteTime(millis(payload["timestamp"], 0));
    this.count("instructions of the program");
  }

  #context(payload: Fields): void {
    this.#model = textOrNull(payload["model"]) ?? this.#model;
    if (this.draft !== null) this.draft.model = this.#model;
    this.count('line "turn_context"');
  }

  #event(payload: Fields, { at, line }: { at: number; line: HistoryLine }): void {
    const type = textField(payload["type"]);
    if (type === "task_started" || type === "turn_started") {
      this.#marksTurns = true;
      this.#begin(textField(payload["turn_id"]) || `${line.from}`, { at, line });
    } else if (type === "turn_aborted" && this.draft !== null) this.draft.stopReason = "interrupted";
    else if (type === "token_count") this.#tokens(fields(payload["info"]));
    else if (type === "thread_rolled_back") {
      this.end();
      this.#lineage = this.#lineage.slice(0, Math.max(0, this.#lineage.length - count(payload["num_turns"])));
    } else if (!["task_complete", "turn_complete", "user_message", "agent_message", "item_completed"].includes(type))
      this.count(`event "${type.slice(0, 40)}"`);
  }

  #begin(key: string, { at, line }: { at: number; line: HistoryLine }): ForeignDraft {
    this.end();
    const draft = this.begin(key, { parent: this.#lineage.at(-1) ?? null, at, line });
    draft.model = this.#model;
    return draft;
  }

  /** Counts come again with the same total when nothing was called. */
  #tokens(info: Fields): void {
    const last = fields(info["last_token_usage"]);
    const total = count(fields(info["total_token_usage"])["total_tokens"]);
    if (this.draft === null || total === this.#total) return;
    this.#total = total;
    this.draft.used(usageOf(last));
  }

  #compacted(payload: Fields): void {
    this.#summary = textOrNull(payload["message"]);
    this.count("compaction");
  }

  #item(item: Fields, { at, line }: { at: number; line: HistoryLine }): void {
    const type = textField(item["type"]);
    const role = textField(item["role"]);
    if (type === "message" && role === "user") return this.#asked(item, { at, line });
    const { draft } = this;
    if (draft === null || (type === "message" && role !== "assistant"))
      return this.count(
        type === "message" ? `message of the role "${role.slice(0, 40)}"` : "item before the first turn",
      );
    if (this.#summary !== null) draft.compacted(this.#summary);
    this.#summary = null;
    if (addItem(draft, item)) draft.note(textField(item["id"]) || textField(item["call_id"]) || `${line.from}`, at);
    noteSubagents(draft, item);
  }

  #asked(item: Fields, { at, line }: { at: number; line: HistoryLine }): void {
    const written = partsText(item["content"]);
    if (isOwn(item, written)) return this.count("message of the program");
    const id = textField(item["id"]) || `${line.from}`;
    const isNew = this.draft === null || (this.draft.instruction !== null && !this.#marksTurns);
    const draft = isNew || this.draft === null ? this.#begin(id, { at, line }) : this.draft;
    if (this.#summary !== null && draft.instruction === null) {
      draft.compacted(this.#summary);
      this.#summary = null;
    }
    if (draft.instruction === null) draft.instruction = written;
    else draft.user(written);
    draft.note(id, at);
    for (const part of listField(item["content"])) {
      const kind = textField(fields(part)["type"]);
      if (kind !== "input_text" && kind !== "text") draft.count(`part "${kind.slice(0, 40)}"`);
    }
  }

  protected override ended(_draft: ForeignDraft, turn: DraftedTurn): void {
    this.#lineage.push(turn.id);
  }
}

/** Newer versions say of each part where it came from. */
function isOwn(item: Fields, written: string): boolean {
  const { content_item_kinds: kinds } = fields(item["internal_chat_message_metadata_passthrough"]);
  if (Array.isArray(kinds) && kinds.length > 0 && !kinds.includes("unknown")) {
    return !kinds.some((kind) => textField(kind).startsWith("user."));
  }
  return ownMessage.test(written);
}

/** Adds an item to the turn. Returns false if it was only counted. */
function addItem(draft: ForeignDraft, item: Fields): boolean {
  const callId = textField(item["call_id"]) || textField(item["id"]);
  switch (item["type"]) {
    case "message":
      draft.assistant(partsText(item["content"]));
      return true;
    case "reasoning":
      draft.reasoning(
        [...listField(item["summary"]), ...listField(item["content"])].map(partText).filter(isSaid).join("\n\n"),
      );
      return true;
    case "function_call":
      draft.call(callId, textField(item["name"]), textField(item["arguments"]));
      return true;
    case "custom_tool_call":
      draft.call(callId, textField(item["name"]), JSON.stringify({ input: textField(item["input"]) }));
      return true;
    case "local_shell_call":
      draft.call(callId, "local_shell", JSON.stringify(item["action"] ?? {}));
      return true;
    case "function_call_output":
    case "custom_tool_call_output":
      addOutput(draft, callId, item["output"]);
      return true;
    default:
      draft.count(`item "${(textField(item["type"]) || "unknown").slice(0, 40)}"`);
      return false;
  }
}

/** An output is a text, a list of parts, or, in older files, an object with both. */
function addOutput(draft: ForeignDraft, callId: string, output: unknown): void {
  if (typeof output === "string") return draft.result(callId, output, false);
  const { content, success, content_items: items } = fields(output);
  const parts = Array.isArray(output) ? output : listField(items);
  for (const part of parts)
    if (partText(part) === "") draft.count(`part "${textField(fields(part)["type"]).slice(0, 40)}"`);
  draft.result(callId, typeof content === "string" ? content : partsText(parts), success === false);
}

/** The answer to a call that starts a subagent has its id. */
function noteSubagents(draft: ForeignDraft, item: Fields): void {
  const output = textField(item["output"]);
  if (item["type"] !== "function_call_output" || !output.startsWith("{")) return;
  const id = /"agent_id"\s*:\s*"([0-9a-f-]{36})"/.exec(output)?.[1];
  if (id !== undefined) draft.started.set(id, /"nickname"\s*:\s*"([^"]{1,60})"/.exec(output)?.[1] ?? "");
}

function partText(part: unknown): string {
  return textField(fields(part)["text"]);
}

function isSaid(piece: string): boolean {
  return piece !== "";
}

function partsText(content: unknown): string {
  return listField(content).map(partText).filter(isSaid).join("\n\n");
}

function usageOf(usage: Fields): Usage | null {
  const input = count(usage["input_tokens"]);
  const output = count(usage["output_tokens"]);
  if (input + output === 0) return null;
  const written = count(usage["cache_write_input_tokens"]);
  return {
    input,
    output,
    cached: count(usage["cached_input_tokens"]),
    reasoning: count(usage["reasoning_output_tokens"]),
    total: count(usage["total_tokens"]) || input + output,
    ...(written > 0 && { written }),
  };
}
