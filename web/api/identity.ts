/**
 * Signing in at the identity provider (U2). What belongs to the attempt is in the storage of this tab: only the tab that began a
 * sign-in can finish it, and another site cannot sign this browser in as another person.
 */
import type { WireSignIn } from "../../src/client/client.ts";
import { pagePaths } from "../../src/protocol/page-paths.ts";
import { navigate } from "../routes.ts";

const storageKey = "aptove.attempt";
/** The address to which the provider sends the browser back. It must be registered there. */
export const redirectUri = location.origin + pagePaths.signedIn;

/** What `begin` of the client answers, without the address. */
type Attempt = Pick<NonNullable<WireSignIn["identity"]>, "state" | "nonce" | "verifier">;

/** Keeps the attempt, and where in the page the person was. */
export function keepAttempt({ state, nonce, verifier }: Attempt): void {
  const place = location.pathname === pagePaths.signedIn ? "/" : location.pathname + location.search;
  sessionStorage.setItem(storageKey, JSON.stringify({ state, nonce, verifier, place }));
}

/**
 * Returns the proof that the provider's answer in the address makes together with the kept attempt, and takes both away. Null: the
 * address has no answer. `identity` is null if this tab began no sign-in.
 */
export function takeAnswer(): { identity: WireSignIn["identity"] | null } | null {
  if (location.pathname !== pagePaths.signedIn) return null;
  const answer = location.search.slice(1);
  const { place = "/", ...attempt } = JSON.parse(sessionStorage.getItem(storageKey) ?? "{}") as Partial<
    Attempt & { place: string }
  >;
  sessionStorage.removeItem(storageKey);
  navigate(place, { replace: true });
  if (answer === "") return null;
  return { identity: attempt.state === undefined ? null : { ...(attempt as Attempt), answer, redirectUri } };
}
