import { describeDocument } from "./document.ts";

describeDocument("docs/history.md");
