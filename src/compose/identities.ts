/** The configured identity provider. It is loaded with the first token, because most callers send an API key (H4). */
import assert from "node:assert/strict";
import type { BrowserIdentities, IdentityProvider } from "../identity/identity-provider.ts";
import type { OidcOptions } from "../identity/oidc/oidc.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { checkOidc } from "../configuration/oidc-settings.ts";
import { OpenedOnce } from "../system/opened-once.ts";
import type { Report } from "../system/repeated-fault.ts";
import type { Observer } from "../telemetry/observer.ts";

export function identitiesOf(
  { oidc }: Configuration,
  { given, report, observer }: { given: IdentityProvider | undefined; report: Report; observer: Observer },
): { identities?: IdentityProvider } {
  if (given !== undefined) return { identities: given };
  const options = optionsOf(oidc);
  if (options === null) return {};
  const opened = new OpenedOnce(async (): Promise<IdentityProvider> => {
    const { openIdProvider } = await import("../identity/oidc/oidc.ts");
    return openIdProvider({
      ...options,
      report,
      refused: (reason) => observer.note({ type: "token_refused", reason }),
    });
  });
  const provider = (): Promise<IdentityProvider> => opened.open();
  return {
    identities: {
      identify: async (token, now) => await (await provider()).identify(token, now),
      ...browsersOf(options, provider),
    },
  };
}

function browsersOf(
  { client, issuer }: Pick<OidcOptions, "client" | "issuer">,
  provider: () => Promise<IdentityProvider>,
): Pick<IdentityProvider, "browsers"> {
  if (client === null) return {};
  const browsers = async (): Promise<BrowserIdentities> => (await provider()).browsers ?? assert.fail("no client");
  return {
    browsers: {
      name: new URL(issuer).hostname,
      begin: async (redirectUri) => await (await browsers()).begin(redirectUri),
      redeem: async (answer, now) => await (await browsers()).redeem(answer, now),
    },
  };
}

/** Returns null if no identity provider is configured. Throws `config_invalid`. */
function optionsOf(oidc: Configuration["oidc"]): Omit<OidcOptions, "report" | "refused"> | null {
  checkOidc(oidc);
  const { issuer, org, orgClaim, orgs, roleClaim, roles, provision, clientId, clientSecret, scopes, ...rest } = oidc;
  if (issuer === null) return null;
  return {
    ...rest,
    issuer,
    client: clientId === null ? null : { id: clientId, secret: clientSecret, scopes },
    org: { id: org, claim: orgClaim, ids: orgs },
    roles: roleClaim === null ? null : { claim: roleClaim, values: roles },
    mayBeAdded: provision,
  };
}
