import { type DescFile, type DescMessage, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import { ServerReflection, type ServerReflectionRequest } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";

/** What both versions ask; they differ in nothing but their package. */
type Question = Pick<ServerReflectionRequest, "host"> & {
  readonly messageRequest: { case: string | undefined; value?: unknown };
};

/** Registers v1 and v1alpha, which older tools ask for. They tell of every service in `services`, themselves included. */
export function registerReflection(router: ConnectRouter, services: readonly DescService[]): void {
  const answer = createAnswer([...services, ServerReflection, ServerReflectionAlpha]);
  router.service(ServerReflection, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answer(request) };
      }
    },
  });
  router.service(ServerReflectionAlpha, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answer(request) };
      }
    },
  });
}

function createAnswer(services: readonly DescService[]) {
  const files = new Map<string, DescFile>();
  for (const service of services) collect(service.file, files);
  const symbols = new Map<string, DescFile>();
  for (const file of files.values()) {
    for (const name of namesOf(file)) symbols.set(name, file);
  }
  const names = [...new Set(services.map((service) => service.typeName))].sort();

  return ({ messageRequest }: Question) => {
    const asked = typeof messageRequest.value === "string" ? messageRequest.value : "";
    switch (messageRequest.case) {
      case "listServices":
        return { case: "listServicesResponse" as const, value: { service: names.map((name) => ({ name })) } };
      case "fileByFilename":
        return fileAnswer(files.get(asked));
      case "fileContainingSymbol":
        return fileAnswer(symbols.get(asked));
      default:
        // The contract is proto3 without extensions.
        return notFound();
    }
  };
}

function fileAnswer(file: DescFile | undefined) {
  if (file === undefined) return notFound();
  const all = new Map<string, DescFile>();
  collect(file, all);
  const fileDescriptorProto = [...all.values()].map((one) => toBinary(FileDescriptorProtoSchema, one.proto));
  return { case: "fileDescriptorResponse" as const, value: { fileDescriptorProto } };
}

function notFound() {
  return { case: "errorResponse" as const, value: { errorCode: Code.NotFound as number, errorMessage: "not found" } };
}

/** A file, then what it imports. */
function collect(file: DescFile, into: Map<string, DescFile>): void {
  if (into.has(file.proto.name)) return;
  into.set(file.proto.name, file);
  for (const dependency of file.dependencies) collect(dependency, into);
}

function* namesOf(file: DescFile): Generator<string> {
  for (const message of file.messages) yield* namesInMessage(message);
  for (const one of file.enums) yield one.typeName;
  for (const service of file.services) {
    yield service.typeName;
    for (const method of service.methods) yield `${service.typeName}.${method.name}`;
  }
}

function* namesInMessage(message: DescMessage): Generator<string> {
  yield message.typeName;
  for (const field of message.fields) yield `${message.typeName}.${field.name}`;
  for (const one of message.nestedEnums) yield one.typeName;
  for (const nested of message.nestedMessages) yield* namesInMessage(nested);
}
