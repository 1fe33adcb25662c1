/** The identity provider as the configuration names it (H4, U2). */
import assert from "node:assert/strict";
import { noObserver } from "../telemetry/observer.ts";
import { test } from "node:test";
import { openIdClientId, openIdServer, signInThere } from "../../testing/openid-provider.ts";
import { localOrgId } from "../domain/caller.ts";
import { MergedValues } from "../configuration/merged-values.ts";
import { settleOidc } from "../configuration/oidc-settings.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { identitiesOf } from "./identities.ts";

const redirectUri = "https://aptove.example.org/signed-in";

test("[U2] [W7] with oidc.client_id browsers sign in at the provider, and without it they do not", async (t) => {
  const accounts = { ada: { name: "Ada", org: "engines" } };
  const { issuer } = await openIdServer(t, { redirectUris: [redirectUri], accounts });
  const configured = (more: object): Configuration => {
    const keys = { "oidc.issuer": issuer, "oidc.org": localOrgId, "oidc.provision": false, ...more };
    return { oidc: settleOidc(new MergedValues(new Map(Object.entries(keys)))) } as Configuration;
  };
  const how = { given: undefined, report: () => undefined, observer: noObserver };
  assert.equal(identitiesOf(configured({ "oidc.audience": "aptove" }), how).identities?.browsers, undefined);
  const { identities } = identitiesOf(configured({ "oidc.client_id": openIdClientId }), how);
  assert.equal(await identities?.identify("a.b.c", Date.now()), null, "no audience, no access tokens");
  const browsers = identities?.browsers ?? assert.fail("browsers cannot sign in");
  assert.equal(browsers.name, "127.0.0.1");
  const { address, ...attempt } = await browsers.begin(redirectUri);
  const answer = (await signInThere(address, "ada")).search.slice(1);
  const user = await browsers.redeem({ ...attempt, answer, redirectUri }, Date.now());
  assert.deepEqual(user, { orgId: localOrgId, by: { externalId: "ada" }, name: "Ada", role: null, mayBeAdded: false });
});
