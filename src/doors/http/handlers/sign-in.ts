/** Handlers for browsers that sign in to the page (U2). */
import { isoTime } from "../../../domain/ids.ts";
import { isoTimeOrNull } from "../../../protocol/session.ts";
import type { WireSignIn } from "../../../protocol/sign-in.ts";
import type { BrowserProof } from "../../../engine/engine.ts";
import { cutSecret, removedCookie } from "../admission/page-cookie.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type SignInRoute = "signIn" | "signOut" | "signInWays" | "beginSignIn" | "createSignInCode";

export function signInHandlers({ engine }: HandlerDependencies): RouteHandlers<SignInRoute> {
  const { browsers } = engine.keys;
  return {
    signIn: async ({ request, body }) => {
      const { expiresAt, ...made } = await browsers.signIn(proofOf(body), body.name);
      const { cookie, pageSecret } = cutSecret(request, made);
      return answer("signIn", { pageSecret, expiresAt: isoTimeOrNull(expiresAt) }, { "set-cookie": cookie });
    },
    signOut: async ({ request, caller }) => {
      await browsers.signOut(caller);
      const cookie = removedCookie(request);
      return new Response(null, { status: 204, headers: cookie === null ? {} : { "set-cookie": cookie } });
    },
    signInWays: async () => answer("signInWays", { identityProvider: browsers.identityProvider() }),
    beginSignIn: async ({ body: { redirectUri } }) =>
      answer("beginSignIn", await browsers.beginAtIdentityProvider(redirectUri)),
    createSignInCode: async ({ caller }) => {
      const { code, expiresAt } = await browsers.code(caller);
      return answer("createSignInCode", { code, expiresAt: isoTime(expiresAt) });
    },
  };
}

/** The schema admits exactly one of them. */
function proofOf({ code, key, pairingCode, identity }: WireSignIn): BrowserProof {
  if (code !== undefined) return { code };
  if (identity !== undefined) return { identity };
  return key === undefined ? { pairingCode: pairingCode ?? "" } : { key };
}
