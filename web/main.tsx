/** The page (U1 to U13): it starts here. */
import { render } from "preact";
import { connect } from "./api/connection.ts";
import { Shell } from "./app/shell.tsx";

const root = document.getElementById("page");
if (root !== null) render(<Shell />, root);
void connect();
