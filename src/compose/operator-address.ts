/** Opens the operator's address where the configuration asks for metrics. */
import type { Aptove } from "../compose.ts";
import { listen, type Listening } from "../doors/http/listen.ts";
import { operatorDoor } from "../doors/http/operator-door.ts";

/** Null: none is wanted. Throws `address_unavailable`. */
export async function listenForOperator({ engine, observing, configuration }: Aptove): Promise<Listening | null> {
  const { metrics, report } = observing;
  const { host, port } = configuration.metrics;
  if (metrics === null || port === null) return null;
  return await listen(operatorDoor({ engine, metrics, report }), { host, port });
}
