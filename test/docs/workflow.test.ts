import { describeDocument } from "./document.ts";

describeDocument("docs/workflow.md");
