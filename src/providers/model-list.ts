/** Reads the list of the models that an account may call (G3). The wires differ only in the names of the fields. */
import * as z from "zod";
import { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import type { HttpConnection } from "./http-connection.ts";
import type { ListedModel } from "./provider.ts";

const entrySchema = z.object({
  id: z.string().optional(),
  name: z.string().optional(),
  context_length: z.number().int().positive().nullish().catch(null),
  max_input_tokens: z.number().int().positive().nullish().catch(null),
  inputTokenLimit: z.number().int().positive().nullish().catch(null),
  supportedGenerationMethods: z.array(z.string()).optional().catch(undefined),
});
const listSchema = z.object({ data: z.array(z.unknown()).optional(), models: z.array(z.unknown()).optional() });

/** Words in the names of models that answer no conversation. */
const others =
  /embed|whisper|tts|dall-e|image|imagen|audio|realtime|moderation|transcribe|sora|veo|davinci|babbage|search|rerank|aqa/i;

/** Sends one request. Rejects with `provider_unavailable` if there is no list; the error never shows a secret (E8). */
export async function listModels(
  connection: HttpConnection,
  path: string,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const { baseUrl, headers, name } = connection;
  try {
    const sent = { ...headers, accept: "application/json" };
    const answer = await connection.post(`${baseUrl}${path}`, {
      method: "GET",
      headers: sent,
      signal,
      redirect: "manual",
    });
    if (answer.status !== 200) throw unlisted(name, `it answered ${answer.status}`);
    return modelsIn(JSON.parse(await bodyText(name, answer.body)));
  } catch (error) {
    if (error instanceof AptoveError) throw error;
    throw unlisted(
      name,
      signal.aborted ? "it did not answer in time" : "it could not be reached, or its answer is no list",
    );
  }
}

async function bodyText(name: string, body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > limits.modelListBytesMax) throw unlisted(name, "its list is too long");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function modelsIn(value: unknown): ListedModel[] {
  const { data, models } = listSchema.parse(value);
  return (data ?? models ?? []).flatMap((one) => {
    const { success, data: entry } = entrySchema.safeParse(one);
    const id = success ? (entry.id ?? entry.name?.replace(/^models\//, "") ?? "") : "";
    if (!success || id === "" || others.test(id)) return [];
    if (entry.supportedGenerationMethods?.includes("generateContent") === false) return [];
    return [{ id, contextTokens: entry.context_length ?? entry.max_input_tokens ?? entry.inputTokenLimit ?? null }];
  });
}

function unlisted(name: string, why: string): AptoveError {
  return new AptoveError("provider_unavailable", `the models of provider "${name}" could not be listed: ${why}`);
}
