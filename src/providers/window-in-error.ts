/** Reads the size of a model's context window from the error of a provider that finds a request too long (C6). */

const count = String.raw`(\d[\d,._ ]*\d)`;

/** The words of the providers, each with the size in its first group. */
const wordings: readonly RegExp[] = [
  // OpenAI, vLLM, OpenRouter
  new RegExp(String.raw`maximum (?:model |input |context )+length (?:is|of)(?: only)? ${count}`, "i"),
  // Anthropic: "prompt is too long: 205000 tokens > 200000 maximum", "… exceed context limit: 190000 + 21000 > 200000"
  new RegExp(String.raw`\d[\d,]*(?: tokens)? > ${count}`, "i"),
  // Google
  new RegExp(String.raw`maximum number of tokens allowed \(?${count}`, "i"),
  // llama.cpp: "exceeds the available context size (4096 tokens)", LM Studio: "context length of only 4096"
  new RegExp(String.raw`context (?:size|length|window|limit)(?: \w+){0,3}[ :=(]+${count}`, "i"),
  // Others: "limit of 32768 tokens"
  new RegExp(String.raw`(?:limit|maximum) (?:is|of) ${count} tokens`, "i"),
];

/** Sizes outside of this range are another number of the message. */
const windowMin = 256;
const windowMax = 100_000_000;

/** Returns the window in tokens, or null if the message names none. */
export function windowIn(message: string): number | null {
  for (const wording of wordings) {
    const found = wording.exec(message)?.[1];
    if (found === undefined) continue;
    const tokens = Number(found.replaceAll(/[,._ ]/g, ""));
    if (tokens >= windowMin && tokens <= windowMax) return tokens;
  }
  return null;
}
