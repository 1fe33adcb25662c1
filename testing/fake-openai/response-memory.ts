/**
 * The stored responses of the fake: for each response id the whole input that led to it, and its output.
 * Tools are not kept, as by the real endpoint.
 */
import type {
  ResponseCreateParams,
  ResponseInputItem,
  ResponseOutputItem,
  ResponseReasoningItem,
} from "openai/resources/responses/responses";
import { modelFamily } from "../../src/domain/models.ts";
import { Refusal } from "./refusal.ts";

/**
 * How an unknown `previous_response_id` is answered. `code`: 400 with code and parameter. `not_found`: the same
 * as 404. `terse`: 400 with no more than a message.
 */
export type ForgottenForm = "code" | "not_found" | "terse";

const cipherPrefix = "fake-cipher.";

/** The family of the model that wrote it. Only this family can read it again. */
export function encryptedFor(model: string, id: string): string {
  return `${cipherPrefix}${Buffer.from(`${modelFamily(model)}\n${id}`).toString("base64url")}`;
}

export class ResponseMemory {
  forgottenForm: ForgottenForm = "code";
  readonly #contexts = new Map<string, readonly ResponseInputItem[]>();

  /** Returns the whole input of a request: the items of its previous response, then its own. Throws a Refusal. */
  assemble(body: ResponseCreateParams): ResponseInputItem[] {
    const before = body.previous_response_id ? this.#recall(body.previous_response_id) : [];
    const own = ownItems(body);
    for (const [index, item] of own.entries()) this.#checkOwn(item, `input[${index}]`, body);
    const assembled = [...before, ...own];
    checkCalls(assembled);
    checkReasoning(assembled);
    return assembled;
  }

  /** Stores a response, so that a later request may continue it. */
  remember(id: string, assembled: readonly ResponseInputItem[], output: readonly ResponseOutputItem[]): void {
    this.#contexts.set(id, [...assembled, ...(output as readonly ResponseInputItem[])]);
  }

  /** Forgets these responses, or all of them, as if they had expired. */
  forget(ids: readonly string[] | "all"): void {
    if (ids === "all") this.#contexts.clear();
    else for (const id of ids) this.#contexts.delete(id);
  }

  #recall(id: string): readonly ResponseInputItem[] {
    const context = this.#contexts.get(id);
    if (context !== undefined) return context;
    if (this.forgottenForm === "terse") {
      throw new Refusal("Invalid `previous_response_id`.", { code: "invalid_request_error" });
    }
    throw new Refusal(`Previous response with id '${id}' not found.`, {
      status: this.forgottenForm === "code" ? 400 : 404,
      param: "previous_response_id",
      code: "previous_response_not_found",
    });
  }

  #checkOwn(item: ResponseInputItem, at: string, { model, store }: ResponseCreateParams): void {
    if (item.type === "item_reference") this.#checkKnown(item.id, store !== false);
    if (item.type !== "reasoning") return;
    if (!item.encrypted_content) this.#checkKnown(item.id, store !== false);
    else checkCipher(item, at, String(model));
  }

  #checkKnown(id: string, isStored: boolean): void {
    const items = [...this.#contexts.values()].flat();
    if (items.some((item) => "id" in item && item.id === id)) return;
    const hint = isStored
      ? ""
      : " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.";
    throw new Refusal(`Item with id '${id}' not found.${hint}`, { status: 404, param: "input" });
  }
}

function ownItems({ input = [] }: ResponseCreateParams): ResponseInputItem[] {
  return typeof input === "string" ? [{ role: "user", content: [{ type: "input_text", text: input }] }] : input;
}

function checkCipher(item: ResponseReasoningItem, at: string, model: string): void {
  const cipher = item.encrypted_content ?? "";
  if (cipher === encryptedFor(model, item.id)) return;
  const message = `The encrypted content ${cipher.slice(0, 4)}...${cipher.slice(-4)} could not be verified.`;
  throw new Refusal(message, { param: `${at}.encrypted_content`, code: "invalid_encrypted_content" });
}

/** Checks that reasoning is in front of the item that it led to, with nothing but more reasoning between them. */
function checkReasoning(items: readonly ResponseInputItem[]): void {
  for (const [index, item] of items.entries()) {
    if (item.type !== "reasoning") continue;
    const next = items.slice(index + 1).find(({ type }) => type !== "reasoning");
    const isOutcome =
      next?.type === "function_call" || (next !== undefined && "role" in next && next.role === "assistant");
    if (isOutcome) continue;
    const message = `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
    throw new Refusal(message, { param: "input" });
  }
}

/** Checks that every call has an output, and every output a call. */
function checkCalls(items: readonly ResponseInputItem[]): void {
  const calls = new Set<string>();
  const outputs = new Set<string>();
  for (const item of items) {
    if (item.type === "function_call") calls.add(item.call_id);
    if (item.type !== "function_call_output") continue;
    const callId = String(item.call_id);
    if (!calls.has(callId)) {
      throw new Refusal(`No tool call found for function call output with call_id ${callId}.`, { param: "input" });
    }
    outputs.add(callId);
  }
  for (const callId of calls) {
    if (!outputs.has(callId)) {
      throw new Refusal(`No tool output found for function call ${callId}.`, { param: "input" });
    }
  }
}
