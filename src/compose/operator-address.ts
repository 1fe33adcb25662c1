/** Opens the operator's address if the configuration asks for metrics. */
import type { Aptove } from "../compose.ts";
import { AptoveError } from "../domain/errors.ts";
import { listen, type ListeningServer } from "../doors/http/listen.ts";
import { operatorDoor } from "../doors/http/operator-door.ts";

/** Returns null if no metrics are configured. Throws `address_unavailable`, whose fact `listener` tells it from the server's own address. */
export async function listenForOperator({ engine, telemetry, configuration }: Aptove): Promise<ListeningServer | null> {
  const { metrics, report } = telemetry;
  const { host, port } = configuration.metrics;
  if (metrics === null || port === null) return null;
  const door = operatorDoor({ engine, metrics, report, allowedHosts: configuration.serve.allowedHosts });
  try {
    return await listen(door, { host, port });
  } catch (error) {
    if (!(error instanceof AptoveError)) throw error;
    const { code, detail, cause } = error;
    throw new AptoveError(code, `the metrics, ${detail}`, { cause, facts: { listener: "metrics" } });
  }
}
