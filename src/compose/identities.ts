/** The configured identity provider, loaded when the first token comes: most callers bring an API key (H4). */
import type { IdentityProvider } from "../identity/identity-provider.ts";
import type { Configuration } from "../workspace/configuration.ts";

export function identitiesOf(
  { oidc }: Configuration,
  { brought, report }: { brought: IdentityProvider | undefined; report(message: string, error?: unknown): void },
): { identities?: IdentityProvider } {
  if (brought !== undefined) return { identities: brought };
  if (oidc === null) return {};
  let opened: Promise<IdentityProvider> | null = null;
  const open = async (): Promise<IdentityProvider> => {
    const { openIdProvider } = await import("../identity/oidc/oidc.ts");
    return openIdProvider({ ...oidc, report });
  };
  return { identities: { identify: async (token, now) => await (await (opened ??= open())).identify(token, now) } };
}
