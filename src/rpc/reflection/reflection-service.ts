import { status } from "@grpc/grpc-js";
import type { ServerReflectionRequest__Output } from "../../proto/gen/grpc/reflection/v1/ServerReflectionRequest.ts";
import type { ServerReflectionResponse } from "../../proto/gen/grpc/reflection/v1/ServerReflectionResponse.ts";
import type { ServiceHandlers } from "../handler.ts";
import type { DescriptorFile, DescriptorIndex } from "./descriptor-index.ts";

type Answer = Omit<ServerReflectionResponse, "validHost" | "originalRequest">;

/** Longer names are nobody's, and would come back in the answer. */
const maxNameLength = 1024;

/** Server reflection; the same handlers serve `v1` and `v1alpha`. */
export function reflectionService(index: DescriptorIndex, services: () => readonly string[]): ServiceHandlers {
  return {
    ServerReflectionInfo: async function* (
      requests: AsyncIterable<ServerReflectionRequest__Output>,
    ): AsyncGenerator<ServerReflectionResponse> {
      const told = new Set<DescriptorFile>();
      for await (const request of requests) {
        const { host, ...asked } = request;
        if (host.length > maxNameLength || nameIn(asked).length > maxNameLength) {
          yield errorAnswer(status.INVALID_ARGUMENT, "name too long");
        } else {
          yield { validHost: host, originalRequest: request, ...answer(request, index, services, told) };
        }
      }
    },
  };
}

function nameIn(request: Omit<ServerReflectionRequest__Output, "host">): string {
  const { fileByFilename, fileContainingSymbol, fileContainingExtension, allExtensionNumbersOfType, listServices } = request;
  const extended = fileContainingExtension?.containingType;
  return fileByFilename ?? fileContainingSymbol ?? extended ?? allExtensionNumbersOfType ?? listServices ?? "";
}

function answer(
  request: ServerReflectionRequest__Output,
  index: DescriptorIndex,
  services: () => readonly string[],
  told: Set<DescriptorFile>,
): Answer {
  const name = nameIn(request);
  switch (request.messageRequest) {
    case "fileByFilename":
      return fileAnswer(index.file(name), index, told);
    case "fileContainingSymbol":
      return fileAnswer(index.fileOfSymbol(name), index, told);
    case "fileContainingExtension":
      return fileAnswer(index.fileOfExtension(name, request.fileContainingExtension?.extensionNumber ?? 0), index, told);
    case "allExtensionNumbersOfType": {
      const numbers = index.extensionNumbers(name);
      if (!numbers) return errorAnswer(status.NOT_FOUND, "no such message");
      return { allExtensionNumbersResponse: { baseTypeName: name, extensionNumber: numbers } };
    }
    case "listServices":
      return { listServicesResponse: { service: services().map((service) => ({ name: service })) } };
    default:
      return errorAnswer(status.INVALID_ARGUMENT, "nothing asked");
  }
}

/** The file and those of its imports that this stream has not sent yet; the file itself always. */
function fileAnswer(file: DescriptorFile | undefined, index: DescriptorIndex, told: Set<DescriptorFile>): Answer {
  if (!file) return errorAnswer(status.NOT_FOUND, "no such file, symbol or extension");
  const fresh = index.withImports(file).filter((other) => other === file || !told.has(other));
  for (const other of fresh) told.add(other);
  return { fileDescriptorResponse: { fileDescriptorProto: fresh.map(({ bytes }) => bytes) } };
}

function errorAnswer(errorCode: status, errorMessage: string): Answer {
  return { errorResponse: { errorCode, errorMessage } };
}
