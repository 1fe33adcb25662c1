/** The view that the address names. Views that few people open first are files of their own. */
import type { ComponentType } from "preact";
import { useLate } from "../parts/late.tsx";
import { Empty } from "../parts/states.tsx";
import { route } from "../routes.ts";
import { ThreadView } from "../thread/thread-view.tsx";

export function View() {
  const { name, params } = route.value;
  switch (name) {
    case "sessions":
      return <ThreadView key="new" session={null} turn={null} />;
    case "session":
    case "turn":
      return <ThreadView key={params["session"]} session={params["session"] ?? null} turn={params["turn"] ?? null} />;
    case "approvals":
      return <Late key="approvals" load={async () => (await import("../approvals/approvals.tsx")).Approvals} />;
    case "compare":
      return <Late key="compare" load={async () => (await import("../compare/compare.tsx")).Compare} />;
    case "several":
      return <Late key="several" load={async () => (await import("../compare/several.tsx")).Several} />;
    case "map":
      return <Late key="map" load={async () => (await import("../tree/map.tsx")).ForkMap} />;
    case "costs":
      return <Late key="costs" load={async () => (await import("../costs/costs.tsx")).Costs} />;
    case "admin":
    case "adminPart":
    case "workspace":
    case "context":
      return <Late key="admin" load={async () => (await import("../admin/admin.tsx")).Admin} />;
    default:
      return (
        <main class="view" id="view" tabIndex={-1}>
          <Empty action={<a href="/">Go to the sessions</a>}>There is no page at this address.</Empty>
        </main>
      );
  }
}

/** A view that is loaded when it is opened first. */
export function Late({ load }: { load: () => Promise<ComponentType> }) {
  const { Of, waiting } = useLate(load);
  if (Of !== null) return <Of />;
  return (
    <main class="view" id="view" tabIndex={-1}>
      {waiting}
    </main>
  );
}
