import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type RouteToolRequest,
  type RouteToolResponse,
  RouteToolResponseSchema,
  ToolMatchSchema,
} from "../../../gen/gin/v1/tool_pb.ts";
import { route, type Score, signatureOf, TOOLS, templateOf } from "../../tools/index.ts";
import { type Ground, type Handlers, stateIn } from "../invocation.ts";
import { checkMost, checkSize, invalid, utf8Bytes } from "../limits.ts";

/** RouteTool: names the tools that fit a need, and runs none. */
export function routeHandlers(ground: Ground): Pick<Handlers, "routeTool"> {
  return {
    routeTool: (request, call): RouteToolResponse => {
      const { need, maxTools } = request;
      if (need.trim() === "") throw invalid("need", "says what is to be done, in words");
      checkSize("route_need_bytes", utf8Bytes(need), "need");
      if (maxTools !== undefined) {
        if (maxTools === 0) throw invalid("max_tools", "must be at least 1");
        checkMost("route_tools", maxTools, "max_tools");
      }
      const { confidence, margin, matches } = route(TOOLS, need, {
        most: maxTools,
        mutating: request.includeMutating ?? true,
        network: request.includeNetwork ?? true,
      });
      return create(RouteToolResponseSchema, {
        ...stateIn(call),
        routeId: Buffer.from(ground.random.bytes(16)).toString("hex"),
        query: need,
        confidence,
        scoreMargin: margin,
        adaptive: maxTools === undefined,
        matches: matches.map((match) => messageOf(match, request)),
        notes: notesOf(confidence, matches),
      });
    },
  };
}

function messageOf({ tool, points, reason }: Score, request: RouteToolRequest) {
  const { name, description, risk, features, schema } = tool;
  const template = request.includeCall ? templateOf(schema) : undefined;
  return create(ToolMatchSchema, {
    name,
    description,
    reason,
    mutating: risk === "mutating" || risk === "shell",
    risk,
    features: [...features],
    ...(request.includeSchema ? { schema: schema as unknown as JsonObject } : {}),
    signature: request.includeSignature ? signatureOf(name, schema) : "",
    ...(template === undefined ? {} : { call: template.call as JsonObject, fill: [...template.fill] }),
    score: points,
    available: !("missing" in tool),
    whyNot: "missing" in tool ? tool.missing : "",
  });
}

function notesOf(confidence: string, matches: readonly Score[]): string[] {
  if (confidence === "none") return ["no tool fits: say what is to be done and to what, or see list_tools"];
  const missing = matches.flatMap(({ tool }) => ("missing" in tool ? [`${tool.name} cannot run here: ${tool.missing}`] : []));
  return confidence === "ambiguous" ? ["the best two are close: read both descriptions", ...missing] : missing;
}
