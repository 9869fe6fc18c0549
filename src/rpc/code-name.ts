import { status } from "@grpc/grpc-js";

const special: Partial<Record<status, string>> = { [status.OK]: "OK", [status.CANCELLED]: "Canceled" };

/** A status code as logs and metrics of gRPC servers spell it, for example `NotFound`. */
export function codeName(code: status): string {
  const words = (status[code] ?? "UNKNOWN").split("_");
  return special[code] ?? words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join("");
}
