/** What a response used, in OpenAI's words. A count that is not known is 0 there. */
import type { Usage } from "../../../domain/usage.ts";

export function responseUsage({ input, output, cached, reasoning, total, written = 0 }: Usage) {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  };
}
