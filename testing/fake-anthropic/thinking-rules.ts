/** Rules for thinking, effort and forced tools, which depend on the model. */
import { fault } from "./check.ts";
import { turnsOf } from "./conversation-rules.ts";
import { rulesOf } from "./models.ts";
import { Refusal } from "./refusal.ts";
import type { MessagesBody } from "./request-rules.ts";

export const bindingBeta = "thinking-binding-controls-2026-08-01";

/** Throws a Refusal unless the model supports the request. */
export function checkThinking(body: MessagesBody, betas: readonly string[]): void {
  const { thinking, model, tool_choice: choice } = body;
  const rules = rulesOf(model);
  checkMode(body);
  if (thinking?.type === "adaptive" && thinking.block_binding && !betas.includes(bindingBeta)) {
    const needed = `This field requires the \`${bindingBeta}\` value in the \`anthropic-beta\` header.`;
    throw fault("thinking.adaptive.block_binding", needed);
  }
  if (body.output_config?.effort && !rules.hasEffort) {
    throw new Refusal("This model does not support the effort parameter.");
  }
  if (choice?.type !== "tool" && choice?.type !== "any") return;
  if (!rules.isForcible) throw fault("tool_choice", 'type "tool" and "any" are not supported for this model.');
  const thinks = thinking === undefined ? rules.thinksByDefault : thinking.type !== "disabled";
  if (thinks) throw new Refusal("Thinking may not be enabled when tool_choice forces tool use.");
}

function checkMode({ thinking, model, max_tokens: maxTokens, messages }: MessagesBody): void {
  if (thinking === undefined) return;
  if (!rulesOf(model).thinking.includes(thinking.type)) {
    throw new Refusal(`"thinking.type.${thinking.type}" is not supported for this model.`);
  }
  if (thinking.type !== "enabled") return;
  if (thinking.budget_tokens >= maxTokens) {
    throw new Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  const [calls, results] = turnsOf(messages).slice(-2);
  const first = calls?.blocks[0]?.type;
  const goesOn = results?.role === "user" && results.blocks[0]?.type === "tool_result";
  if (!goesOn || first === "thinking" || first === "redacted_thinking") return;
  const found = `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first ?? "nothing"}\`.`;
  const rule = "When `thinking` is enabled, a final `assistant` message must start with a thinking block.";
  throw fault("messages.1.content.0.type", `${found} ${rule}`);
}
