import { describeDocument } from "./document.ts";

describeDocument("docs/cli.md");
