/** Has a driver make the request of a call. A driver that is written in JavaScript can break its contract, and the error says which part (C7). */
import { AptoveError } from "../../../domain/errors.ts";
import type { ModelCall, PreparedRequest, Provider } from "../../../providers/provider.ts";
import { isRecord } from "../../../system/guards.ts";
import { hideSecretForms } from "../../../system/secret-forms.ts";

/** Returns the request. Throws `internal`, with the name of the driver, if that makes none. */
export function preparedRequest(provider: Pick<Provider, "name" | "prepare">, call: ModelCall): PreparedRequest {
  const request = made(provider, call);
  if (isWhole(request)) return request;
  const contract = "`prepare` returns `model` and `body`, both texts, and the list `dropped`";
  throw new AptoveError("internal", `the driver of ${provider.name} breaks its contract: ${contract}`);
}

function made(provider: Pick<Provider, "name" | "prepare">, call: ModelCall): PreparedRequest {
  try {
    return provider.prepare(call);
  } catch (error) {
    if (error instanceof AptoveError) throw error;
    const reason = hideSecretForms(error instanceof Error ? error.message : String(error));
    throw new AptoveError("internal", `the driver of ${provider.name} threw in \`prepare\`: ${reason}`, {
      cause: error,
    });
  }
}

function isWhole(request: unknown): boolean {
  if (!isRecord(request)) return false;
  const { model, body, dropped } = request;
  return typeof model === "string" && typeof body === "string" && Array.isArray(dropped);
}
