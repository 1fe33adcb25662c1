/** After `npm ci` in a clone: makes `npx aptove` work here, and start quickly. */
import { refreshBundle } from "./bundle.mjs";
import { linkCommand } from "./install.mjs";

linkCommand();
await refreshBundle();
