/** The configured identity provider. It is loaded with the first token, because most callers send an API key (H4). */
import type { IdentityProvider } from "../identity/identity-provider.ts";
import type { OidcOptions } from "../identity/oidc/oidc.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { checkOidc } from "../configuration/oidc-settings.ts";

export function identitiesOf(
  { oidc }: Configuration,
  { given, report }: { given: IdentityProvider | undefined; report(message: string, error?: unknown): void },
): { identities?: IdentityProvider } {
  if (given !== undefined) return { identities: given };
  const options = optionsOf(oidc);
  if (options === null) return {};
  let opened: Promise<IdentityProvider> | null = null;
  const open = async (): Promise<IdentityProvider> => {
    const { openIdProvider } = await import("../identity/oidc/oidc.ts");
    return openIdProvider({ ...options, report });
  };
  return { identities: { identify: async (token, now) => await (await (opened ??= open())).identify(token, now) } };
}

/** Returns null if no identity provider is configured. Throws `config_invalid`. */
function optionsOf(oidc: Configuration["oidc"]): Omit<OidcOptions, "report"> | null {
  checkOidc(oidc);
  const { issuer, audience, org, orgClaim, orgs, roleClaim, roles, provision, ...rest } = oidc;
  if (issuer === null || audience === null) return null;
  return {
    ...rest,
    issuer,
    audience,
    org: { id: org, claim: orgClaim, ids: orgs },
    roles: roleClaim === null ? null : { claim: roleClaim, values: roles },
    mayBeAdded: provision,
  };
}
