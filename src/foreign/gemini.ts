/**
 * Reads a history of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, and `.json` of older
 * versions, which is one object. A line is a message, a newer form of an earlier message, a change of facts, a list of
 * messages that replaces all, or a step back. So the turns are known only at the end.
 */
import type { Usage } from "../domain/usage.ts";
import { count, fields, listField, millis, textField, textOrNull, type Fields } from "./fields.ts";
import type { HistoryLine } from "./history-lines.ts";
import { HistoryParser } from "./history-parser.ts";
import type { ForeignDraft } from "./turn-draft.ts";

interface KeptMessage {
  value: Fields;
  line: HistoryLine;
}

const ownMessage = /^<(?:session_context|state_snapshot|system-reminder|hook_context)/;

export class GeminiParser extends HistoryParser {
  #messages = new Map<string, KeptMessage>();
  #dropped = 0;
  #last: string | null = null;
  #size = 0;

  protected read(value: Fields, line: HistoryLine): void {
    this.#size = line.to;
    const rewindTo = textOrNull(value["$rewindTo"]);
    const change = fields(value["$set"]);
    if (rewindTo !== null) this.#rewind(rewindTo);
    else if (textOrNull(value["id"]) !== null) this.#keep(value, line);
    else if ("$set" in value) this.#facts(change, line);
    else if ("sessionId" in value) this.#facts(value, line);
    else this.count("line of an unknown kind");
  }

  #facts(value: Fields, line: HistoryLine): void {
    const { facts } = this;
    facts.id ??= textOrNull(value["sessionId"]);
    facts.name = textOrNull(value["summary"]) ?? facts.name;
    facts.folder ??= textOrNull(listField(value["directories"])[0]);
    if (value["kind"] === "subagent") facts.spawnedBy ??= "unknown";
    for (const key of ["startTime", "lastUpdated"]) this.noteTime(millis(value[key], 0));
    if (Array.isArray(value["messages"])) this.#replace(value["messages"], line);
  }

  /** A replacing list has less of an answer than its own line had: no counts, and no states of its calls. */
  #replace(messages: unknown[], line: HistoryLine): void {
    const before = this.#messages;
    this.#messages = new Map();
    for (const message of messages) {
      const id = textField(fields(message)["id"]);
      if (id !== "") this.#messages.set(id, before.get(id) ?? { value: fields(message), line });
    }
    for (const id of before.keys()) if (!this.#messages.has(id)) this.#dropped += 1;
  }

  #keep(value: Fields, line: HistoryLine): void {
    const id = textField(value["id"]);
    this.#messages.set(id, { value, line: this.#messages.get(id)?.line ?? line });
  }

  #rewind(id: string): void {
    let isAfter = !this.#messages.has(id);
    for (const known of this.#messages.keys()) {
      isAfter ||= known === id;
      if (!isAfter) continue;
      this.#messages.delete(known);
      this.#dropped += 1;
    }
  }

  override finish(): void {
    for (const message of this.#messages.values()) this.#message(message);
    for (let at = 0; at < this.#dropped; at += 1) this.count("message that a step back or a newer list left out");
    if (this.draft !== null) this.draft.source.to = this.#size;
    super.finish();
  }

  #message({ value, line }: KeptMessage): void {
    const at = millis(value["timestamp"], 0);
    this.noteTime(at);
    const type = textField(value["type"]);
    if (type === "user") this.#user(value, { at, line });
    else if (type === "gemini") this.#answer(value, at);
    else this.count(`message "${type.slice(0, 40)}"`);
  }

  #user(value: Fields, { at, line }: { at: number; line: HistoryLine }): void {
    const parts = partsOf(value["content"]);
    const results = parts.filter((part) => "functionResponse" in part).map((part) => fields(part["functionResponse"]));
    for (const result of results) this.#result(result);
    const written = partsText(parts);
    const others = parts.filter((part) => !("functionResponse" in part));
    if (others.length === 0) return;
    if (ownMessage.test(written)) return this.count("message of the program");
    this.#begin(textField(value["id"]), { at, line }).instruction = written;
    for (const part of others) if (!("text" in part)) this.count(`part "${(Object.keys(part)[0] ?? "").slice(0, 40)}"`);
  }

  #begin(key: string, { at, line }: { at: number; line: HistoryLine }): ForeignDraft {
    if (this.draft !== null) this.draft.source.to = Math.max(this.draft.source.from, line.from);
    this.end();
    return this.begin(key, { parent: this.#last, at, line });
  }

  protected override end() {
    const turn = super.end();
    if (turn !== null) this.#last = turn.id;
    return turn;
  }

  /** The answer to a call stands twice: with the call, and as a message. */
  #result(result: Fields): void {
    const { draft } = this;
    const id = textField(result["id"]);
    if (draft === null || !draft.isOpen(id)) return;
    addResult(draft, id, result);
  }

  #answer(value: Fields, at: number): void {
    const { draft } = this;
    if (draft === null) return this.count("answer without a question");
    draft.model = textOrNull(value["model"]) ?? draft.model;
    draft.used(usageOf(fields(value["tokens"])));
    for (const thought of listField(value["thoughts"]).map(fields)) {
      draft.reasoning(
        [textField(thought["subject"]), textField(thought["description"])].filter((one) => one !== "").join(": "),
      );
    }
    const parts = partsOf(value["content"]);
    for (const part of parts) addPart(draft, part);
    const calls = listField(value["toolCalls"]).map(fields);
    for (const call of calls) {
      draft.call(textField(call["id"]), textField(call["name"]), JSON.stringify(call["args"] ?? {}));
      const agent = textOrNull(call["agentId"]);
      if (agent !== null) draft.started.set(agent, textField(fields(call["args"])["agent_name"]));
    }
    for (const call of calls) {
      const results = partsOf(call["result"]).flatMap((part) =>
        "functionResponse" in part ? [fields(part["functionResponse"])] : [],
      );
      for (const result of results) addResult(draft, textField(call["id"]), result);
    }
    draft.note(textField(value["id"]), at);
  }
}

function addPart(draft: ForeignDraft, part: Fields): void {
  const { functionCall } = part;
  if (functionCall !== undefined) {
    const call = fields(functionCall);
    draft.call(textField(call["id"]), textField(call["name"]), JSON.stringify(call["args"] ?? {}));
  } else if (part["thought"] === true) draft.reasoning(textField(part["text"]));
  else if (typeof part["text"] === "string") draft.assistant(part["text"]);
  else draft.count(`part "${(Object.keys(part)[0] ?? "").slice(0, 40)}"`);
}

function addResult(draft: ForeignDraft, callId: string, result: Fields): void {
  const response = fields(result["response"]);
  const { output, error } = response;
  if (typeof error === "string") draft.result(callId, error, true);
  else draft.result(callId, typeof output === "string" ? output : JSON.stringify(response), false);
}

/** A content is a text, one part, or a list of both. */
function partsOf(content: unknown): Fields[] {
  const parts = Array.isArray(content) ? content : [content];
  return parts.flatMap((part) => (typeof part === "string" ? [{ text: part }] : [fields(part)]));
}

function partsText(parts: readonly Fields[]): string {
  return parts
    .map((part) => textField(part["text"]))
    .filter((piece) => piece !== "")
    .join("\n\n");
}

/** What Gemini calls `output` leaves out the tokens of its thoughts. */
function usageOf(tokens: Fields): Usage | null {
  const input = count(tokens["input"]) + count(tokens["tool"]);
  const reasoning = count(tokens["thoughts"]);
  const output = count(tokens["output"]) + reasoning;
  if (input + output === 0) return null;
  return { input, output, cached: count(tokens["cached"]), reasoning, total: count(tokens["total"]) || input + output };
}
